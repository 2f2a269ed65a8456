"""Pages that are made from the source: commands, parameters, registers, public names, files, and the test plan, which says
what each test sends and checks, and what each proof claims.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import io
import json
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path

from cdma.app import main, parser
from cdma.hdl.deliver.registers import register_texts
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.settings import settings_of
from cdma.hdl.spec.stage import Quantisation, StageConfig
from cdma.streams import commands_of


def registers_page() -> str:
    """The document that lies beside an engine, with every register that an engine may have."""
    return register_texts(EngineConfig(crc=True), every=True)["cdma_registers.md"]


_OBJECTS = {
    "The stream": Format,
    "A codec": CodecConfig,
    "An engine": EngineConfig,
    "The numbers of an error-bounded stage": Quantisation,
    "An error-bounded stage": StageConfig,
}


def parameters_page() -> str:
    """Every parameter of every object."""
    parts = [
        "# Parameters\n",
        "Each object is frozen, and refuses values that cannot be built, with a reason. In a TOML file (`--config`) a "
        "parameter has the name that it has here; as an option it has hyphens for underscores ([commands](commands.md)).\n",
    ]
    for title, kind in _OBJECTS.items():
        said = {each.name: f"{each.help[0].upper()}{each.help[1:]}." for each in settings_of(kind)}
        # The docstring has those of which there is more to say.
        said |= meanings(kind)
        rows = []
        for field in dataclasses.fields(kind):
            rows.append((f"`{field.name}`", f"`{field.type}`", f"`{field.default!r}`", said[field.name]))
        introduction = from_docstring(inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0])
        parts += [f"## {title}: `{kind.__name__}`\n", introduction + "\n"]
        parts += [table(("parameter", "type", "default", "meaning"), rows) + "\n"]
    return "\n".join(parts)


def meanings(kind: type) -> dict[str, str]:
    """What the docstring of a class says of each name that it lists."""
    found = {}
    text = inspect.cleandoc(kind.__doc__ or "")
    for names, meaning in re.findall(r"^((?:``\w+``(?:, )?)+): (.*(?:\n    .*)*)", text, re.MULTILINE):
        found |= dict.fromkeys(re.findall(r"``(\w+)``", names), from_docstring(meaning))
    return found


def from_docstring(text: str) -> str:
    """A sentence of a docstring: its code and its references as code."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"``\1``", " ".join(text.split()))
    return re.sub(r"``([^`]+)``", r"`\1`", text).replace("|", r"\|")


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_ROOT = Path(__file__).resolve().parents[2]
_FOLDERS = (
    *("base", "hdl", "sim", "verif", "synth", "cli"),
    *("extras/pytorch", "extras/study", "extras/linux/cdma_linux"),
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


#: What is public: the names of these packages.
_PACKAGES = ("cdma", "cdma.delta", "cdma.hdl", "cdma.sim")


def api_page() -> str:
    """Every public name, once: under the first package that has it."""
    parts = [_heading("Python", "="), "What these packages do not list is not public and may change.\n"]
    seen: set[int] = set()
    for package in _PACKAGES:
        module = import_module(package)
        parts += [_heading(package, "-"), inspect.cleandoc(module.__doc__ or "") + "\n"]
        for name in module.__all__:
            thing = getattr(module, name)
            if id(thing) in seen or name.startswith("__"):
                continue
            seen.add(id(thing))
            if inspect.isclass(thing):
                parts.append(f".. autoclass:: {package}.{name}\n   :members:\n")
            else:
                parts.append(f".. autofunction:: {package}.{name}\n")
    return "\n".join(parts)


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"


def commands_page() -> str:
    """Every command with its options, as its help says it."""
    parts = ["# Commands\n", "What `cdma COMMAND --help` says.\n"]
    parts += [
        f"## {command.prog}\n\n```text\n{command.format_help()}```\n" for command in commands_of(parser())
    ]
    return "\n".join(parts)


#: Designs that have all tests of their kind between them.
_DESIGNS: dict[str, tuple[tuple[str, ...], ...]] = {
    "Codecs": (("compressor",), ("decompressor",)),
    "Stages": (("quantiser",), ("dequantiser",)),
    "Engines": (
        ("engine", "--format", "aie2p", "--crc", "--lossy", "fp32", "--sideband-registers"),
        ("engine", "--units", "2"),
    ),
}


def tests_page() -> str:
    """Every test of the regressions and every proof."""
    parts = [
        "# Tests and proofs\n",
        "`cdma verify BLOCK --list` says which tests a configuration has, and `cdma prove --list` which proofs there are.\n",
    ]
    for title, designs in _DESIGNS.items():
        rows = [row for design in designs for row in _listed("verify", *design)]
        cells = dict.fromkeys((f"`{row['test']}`", row["stimulus"], row["check"]) for row in rows)
        parts += [f"## {title}\n", table(("test", "stimulus", "check"), cells) + "\n"]
    configs: dict[tuple[str, str], list[str]] = {}
    for row in _listed("prove"):
        configs.setdefault((f"`{row['property']}`", row["claim"]), []).append(row["config"])
    proofs = [(*proof, "; ".join(found)) for proof, found in configs.items()]
    parts += ["## Proofs\n", table(("proof", "claim", "configurations"), proofs) + "\n"]
    return "\n".join(parts)


def _listed(*command: str) -> Sequence[dict[str, str]]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = main([*command, "--list", "--json"])
    if status:
        raise SystemExit(f"cdma {' '.join(command)} --list ends with status {status}")
    rows: list[dict[str, str]] = json.loads(said.getvalue())
    return rows
