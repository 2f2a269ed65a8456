"""The files that the modes of ``cdma model`` write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = ["ready_output"]


def ready_output(path: Path, endings: Sequence[str] = ()) -> None:
    """Refuses a file that cannot be written, before the work on its contents. Its folder need not be there yet."""
    from cdma.files import ready_directory, ready_file

    if path.parent.exists():
        ready_file(path, endings)
    else:
        ready_directory(path.parent)
