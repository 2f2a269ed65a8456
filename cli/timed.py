"""How long a command works, and how much of that it reads and writes files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO, cast

from cdma.files import replacing

__all__ = ["FileTime", "timing"]


class FileTime:
    """Counts seconds from here on, and those of them that the files which go through :meth:`of` take to read and write."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._in_files = 0.0

    def of(self, file: BinaryIO) -> BinaryIO:
        """The same file, whose time counts."""
        return cast(BinaryIO, _Timed(file, self))

    @contextmanager
    def replacing(self, path: Path, source: Path | None = None) -> Iterator[BinaryIO]:
        """Opens a file as :func:`.files.replacing` does; that it takes the place of another one counts too."""
        with ExitStack() as stack:
            yield self.of(stack.enter_context(replacing(path, source)))
            began = time.perf_counter()
            stack.close()
            self._in_files += time.perf_counter() - began

    def so_far(self) -> dict[str, float]:
        """The seconds until now, for scripts."""
        return {"seconds": time.perf_counter() - self._began, "file_seconds": self._in_files}

    def counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, whose time counts."""

        @wraps(function)
        def timed(*arguments: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                self._in_files += time.perf_counter() - began

        return timed


class _Timed:
    """A file that is read and written through functions whose time counts, and that does all else as before."""

    def __init__(self, file: BinaryIO, time: FileTime) -> None:
        self._file = file
        for name in ("read", "readinto", "write"):
            setattr(self, name, time.counted(getattr(file, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def timing(summary: Mapping[str, Any]) -> str:
    """The seconds of :meth:`FileTime.so_far`, for people."""
    return f"in {summary['seconds']:.2f} s, {summary['file_seconds']:.2f} of them reading and writing"
