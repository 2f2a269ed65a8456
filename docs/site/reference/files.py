"""The page of the files: what each says of itself in the first sentence of its docstring."""

from __future__ import annotations

import ast
from pathlib import Path

from .markdown import from_docstring, table

_ROOT = Path(__file__).resolve().parents[3]
_FOLDERS = (
    "base",
    "hdl",
    "sim",
    "verif",
    "synth",
    "cli",
    "extras/pytorch",
    "extras/study",
    "extras/linux/cdma_linux",
)


def files_page() -> str:
    """Every file of the package, room by room."""
    parts = ["# Files\n", "Made from the docstrings. [Architecture](architecture.md) has the rooms.\n"]
    for folder in _FOLDERS:
        rooms: dict[Path, list[tuple[str, str]]] = {}
        for path in sorted((_ROOT / folder).rglob("*.py")):
            said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            rooms.setdefault(path.parent, []).append(
                (f"`{path.name}`", from_docstring(said.split("\n\n")[0]))
            )
        for room, rows in rooms.items():
            parts += [f"## {room.relative_to(_ROOT)}/\n", table(("file", "contents"), rows) + "\n"]
    return "\n".join(parts)
