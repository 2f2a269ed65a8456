"""Output files that are either whole or absent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from cdma.hdl.spec.errors import CdmaError

__all__ = ["FileError", "opened", "replacing", "write_text"]


class FileError(CdmaError, OSError):
    """A file that cannot be opened, read or written."""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Opens an input file; an error of the system becomes a :class:`FileError`."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        if isinstance(error, CdmaError):
            raise
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None


@contextmanager
def replacing(path: Path, source: Path | None = None) -> Iterator[BinaryIO]:
    """Opens a new file that replaces ``path`` when the block ends well, and vanishes when it does not.

    ``source``, which the block reads, is refused as ``path``.
    """
    # The target of a symbolic link is replaced, not the link.
    final = Path(os.path.realpath(path))
    if final.exists():
        if source is not None and final.samefile(source):
            raise FileError(f"{path} is the input; the output must be another file")
        if not final.is_file():
            raise FileError(f"{path} exists and is not a regular file, so it cannot be replaced")
    partial = final.with_name(f".{final.name}.{os.getpid()}.partial")
    try:
        try:
            with partial.open("xb") as file:
                yield file
            if final.exists():
                shutil.copymode(final, partial)
            os.replace(partial, final)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        if isinstance(error, CdmaError):
            raise
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None


def write_text(directory: Path, name: str, text: str) -> Path:
    """Writes one file whole or not at all, and makes its directory if need be."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot create the directory {directory}: {error.strerror}") from None
    path = directory / name
    with replacing(path) as file:
        file.write(text.encode())
    return path
