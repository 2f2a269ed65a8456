"""Output files that are either whole or absent, and the time that it takes to read and write them."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO, cast

from cdma.base.errors import CdmaError


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


@contextmanager
def making_directory(directory: Path) -> Iterator[None]:
    """Makes a directory, and those above it, if need be; what it made vanishes if the block ends badly and left it empty."""
    with _vanishing(directory) as keep:
        make_directory(directory)
        yield
        keep()


def make_directory(directory: Path) -> None:
    """Makes a directory, and those above it, if need be."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot write to the directory {directory}: {error.strerror or error}") from None


def ready_directory(directory: Path) -> None:
    """Refuses a directory that no file can be written to, before the work on the files; leaves everything as it was."""
    with _vanishing(directory):
        make_directory(directory)
        try:
            with tempfile.TemporaryFile(dir=directory):
                pass
        except OSError as error:
            raise FileError(f"cannot write to the directory {directory}: {error.strerror or error}") from None


@contextmanager
def _vanishing(directory: Path) -> Iterator[Callable[[], None]]:
    """Removes what the block made of the path of a directory, unless it calls the function."""
    missing = [each for each in (directory, *directory.parents) if not each.exists()]
    try:
        yield missing.clear
    finally:
        with suppress(OSError):
            for each in missing:
                each.rmdir()


def ready_file(path: Path, endings: Sequence[str] = ()) -> None:
    """Refuses a file that cannot be written, or with none of the ``endings``, before the work on its contents."""
    if endings and path.suffix not in endings:
        raise FileError(f"{path} has no ending {' or '.join(endings)}; those are what can be written")
    final = Path(os.path.realpath(path))
    if final.exists() and not final.is_file():
        raise FileError(f"{path} exists and is not a regular file, so it cannot be replaced")
    if not final.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no directory {path.parent}")
    ready_directory(final.parent)


def write_text(directory: Path, name: str, text: str) -> Path:
    """Writes one file whole or not at all, and makes its directory if need be."""
    return write_folder(directory, {name: text})[0]


def write_folder(directory: Path, files: Mapping[str, str]) -> list[Path]:
    """Writes ``files``, texts by name, and makes their directory if need be.

    All of them are there in full before the first takes its name, so that what fails, such as a full disk, leaves the folder
    as it was.
    """
    paths = [directory / name for name in files]
    with making_directory(directory), ExitStack() as stack:
        for path, text in zip(paths, files.values(), strict=True):
            file = stack.enter_context(replacing(path))
            file.write(text.encode())
            file.flush()
    return paths


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
        """Opens a file as :func:`replacing` does; that it takes the place of another one counts too."""
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
