"""``Bender.yml``, which lists the blocks of a folder."""

from __future__ import annotations

import re

__all__ = ["bender_manifest", "listed_files"]

_OPENING = "# Written by cdma generate: the blocks of this folder.\n"


def bender_manifest(package: str, files: list[str]) -> str:
    """The manifest of a folder with these Verilog ``files``; ``package`` is any name."""
    name = re.sub(r"[^a-z0-9_]+", "_", package.lower()).strip("_") or "cdma"
    sources = "".join(f"  - {file}\n" for file in sorted(set(files)))
    return f"{_OPENING}package:\n  name: {name}\nsources:\n{sources}"


def listed_files(manifest: str) -> list[str] | None:
    """The files of a manifest that :func:`bender_manifest` wrote; None for any other."""
    if not manifest.startswith(_OPENING):
        return None
    return re.findall(r"^  - (\S+\.s?v)$", manifest, re.MULTILINE)
