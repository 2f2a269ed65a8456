"""The manifest of a folder of blocks for Bender."""

from __future__ import annotations

from pathlib import Path

from cdma.files import FileError
from cdma.hdl.deliver.flows import bender_manifest, listed_files

__all__ = ["manifest"]

_NAME = "Bender.yml"


def manifest(directory: Path, sources: list[str]) -> dict[str, str]:
    """The ``Bender.yml`` of a folder that gets the files ``sources``, by its name; nothing where the user has one."""
    path = directory / _NAME
    try:
        listed = listed_files(path.read_text(encoding="utf-8")) if path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from None
    if listed is None:
        return {}
    there = [file for file in listed if (directory / file).exists()]
    return {_NAME: bender_manifest(directory.resolve().name, [*there, *sources])}
