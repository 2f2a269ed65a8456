"""What changed between two tensors, models or folders, as a file: made, carried out, saved and loaded.

A patch is checked before anything is written: the patch itself, and the base by the CRC-32C of each tensor. Memory is that
of a few chunks, whatever the size of tensors.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from cdma.files import FileError, opened, replacing
from cdma.sim.codec.files import write_npy_header
from cdma.sim.codec.patch import Entry, FileEntry, Index, Patch, Progress, write_patch
from cdma.sim.codec.sources import DeltaError, Piece, Source, require_memory, sources_of, tensors_of

__all__ = ["DeltaError", "apply", "load", "make", "save"]


def _nobody(count: int) -> None:
    """Takes no notice of progress."""


def _silent(total: int) -> Progress:
    return _nobody


def make(
    old: Path, new: Path, patch: Path, *, plain: bool = False, progress: Callable[[int], Progress] = _silent
) -> dict[str, Any]:
    """Writes the patch that makes ``new`` of ``old``, two files or two folders; returns what is in it.

    ``plain``: Streams are of whole words, as an engine reads them. Else those of fields are shorter where much has changed,
        and zlib compresses what it makes an eighth smaller.
    ``progress``: Is called with the bytes to read of ``new``, and what it returns with those that have been read.
    """
    for path in (old, new):
        if not path.exists():
            raise FileError(f"cannot read {path}: there is no such file or folder")
    if old.is_dir() != new.is_dir():
        raise DeltaError(f"{old} and {new} are a file and a folder; they must be two files or two folders")
    if not old.is_dir() and old.suffix != new.suffix:
        raise DeltaError(f"{old} and {new} are files of two kinds; they must be of one")
    for path in (old, new):
        if patch.exists() and patch.samefile(path):
            raise FileError(f"{patch} is an input; the output must be another file")
    sources, base = sources_of(new), sources_of(old)
    total = sum(piece.nbytes for source in sources for piece in source.pieces)
    with replacing(patch) as target:
        index, written = write_patch(target, sources, base, new.is_dir(), plain, progress(total))
    return _summary(index, written, base)


def save(
    path: str | os.PathLike[str], new: Mapping[str, Any], base: Mapping[str, Any], *, plain: bool = False
) -> dict[str, Any]:
    """Writes the patch that makes the tensors ``new`` of those of a ``base``, by name; returns what is in it.

    Tensors are arrays, those of ``ml_dtypes`` among them, or tensors of PyTorch on the CPU. ``plain``: See :func:`make`.
    """
    before = [tensors_of(base)]
    with replacing(Path(path)) as target:
        index, written = write_patch(target, [tensors_of(new)], before, False, plain, _nobody)
    return _summary(index, written, before)


def load(path: str | os.PathLike[str], base: Mapping[str, Any], *, in_place: bool = False) -> dict[str, Any]:
    """The tensors that a patch makes of a ``base``, by name, as arrays of numpy; types that it lacks as whole numbers.

    ``in_place``: The tensors of the base become the new ones, and are what the result has; those that are new are
        arrays. Nothing is changed if the base is another one, or the patch is damaged.
    """
    with _reading(Path(path)) as patch:
        pieces = {piece.name: piece for piece in tensors_of(base).pieces}
        entries = [entry for file in patch.index.files if file.kind != "bytes" for entry in file.tensors]
        for entry in entries:
            patch.verify(entry, pieces.get(entry.name), _nobody)
            if in_place and entry.base is not None:
                require_memory(entry.name, base[entry.name])
        made: dict[str, Any] = {}
        for entry in entries:
            if in_place and entry.base is not None:
                patch.change(entry, pieces[entry.name])
                made[entry.name] = base[entry.name]
            else:
                made[entry.name] = patch.array(entry, pieces.get(entry.name))
        return made


def apply(
    old: Path,
    patch: Path,
    new: Path,
    progress: Callable[[int], Progress] = _silent,
    tensor: str | None = None,
) -> dict[str, Any]:
    """Writes what a patch makes of ``old``; returns what was done. A folder must not be there before.

    ``tensor``: Makes this tensor alone, as a ``.npy`` file.
    """
    if not old.exists():
        raise FileError(f"cannot read {old}: there is no such file or folder")
    with _reading(patch) as found:
        if found.index.folder and tensor is None and os.path.lexists(new):
            raise FileError(f"{new} exists; the output for a folder must be a new one")
        chosen = _chosen(found.index, old, tensor)
        base = {(source.path, piece.name): piece for source in sources_of(old) for piece in source.pieces}
        work = _Work(found, {id(entry): base.get((file.path, entry.name)) for file, entry in chosen})
        entries = [entry for _, entry in chosen]
        work.progress = progress(sum(entry.nbytes * (2 - (entry.base is None)) for entry in entries))
        for entry in entries:
            found.verify(entry, work.base[id(entry)], work.progress)
        if tensor is not None:
            with replacing(new, patch) as target:
                write_npy_header(target, entries[0].tensor)
                work.write(entries[0], target)
        elif found.index.folder:
            work.write_folder(new)
        else:
            with replacing(new, patch) as target:
                work.write_file(found.index.files[0], target)
    return {"tensors": len(entries), "raw_bytes": sum(entry.nbytes for entry in entries)}


@dataclass
class _Work:
    """A patch that is carried out, with the tensor of the base for each of its entries."""

    patch: Patch
    base: Mapping[int, Piece | None]
    progress: Progress = _nobody

    def write(self, entry: Entry, target: BinaryIO) -> None:
        for chunk in self.patch.chunks(entry, self.base[id(entry)]):
            target.write(chunk.data)
            self.progress(len(chunk))

    def write_file(self, file: FileEntry, target: BinaryIO) -> None:
        target.write(self.patch.head(file))
        for entry in file.tensors:
            self.write(entry, target)

    def write_folder(self, folder: Path) -> None:
        """Makes a folder beside where it belongs, and moves it there when it is whole."""
        partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
        try:
            partial.mkdir()
            for file in self.patch.index.files:
                path = partial / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as target:
                    self.write_file(file, target)
            partial.rename(folder)
        except OSError as error:
            raise FileError(f"cannot write {folder}: {error.strerror or error}") from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _chosen(index: Index, old: Path, tensor: str | None) -> list[tuple[FileEntry, Entry]]:
    """The entries to carry out, each with its file."""
    if index.folder != old.is_dir():
        raise DeltaError(f"it is for a {'folder' if index.folder else 'file'}, which {old} is not")
    for file in index.files:
        if file.kind == "tensors":
            raise DeltaError("it was made of the tensors of a program; cdma.delta.load takes it")
        if index.folder and (
            ".." in PurePosixPath(file.path).parts or PurePosixPath(file.path).is_absolute()
        ):
            raise DeltaError(f"it has a file {file.path!r}, which is outside of the folder")
    entries = [(file, entry) for file in index.files for entry in file.tensors]
    if tensor is None:
        return entries
    found = [(file, entry) for file, entry in entries if entry.name == tensor]
    if len(found) != 1:
        raise DeltaError(f"it has {len(found) or 'no'} tensors {tensor!r}, of {len(entries)}")
    return found


@contextmanager
def _reading(path: Path) -> Iterator[Patch]:
    """Opens a patch; what is wrong with it is said with its name."""
    with opened(path) as file:
        try:
            yield Patch(file)
        except DeltaError as error:
            raise DeltaError(f"cannot use the patch {path}: {error}") from None


def _summary(index: Index, written: int, base: Sequence[Source]) -> dict[str, Any]:
    """What a patch has, for scripts."""
    known = {(source.path, piece.name) for source in base for piece in source.pieces}
    whole = [(file.path, entry) for file in index.files for entry in file.tensors if entry.base is None]
    entries = list(index.entries())
    return {
        "tensors": len(entries),
        "changed": sum(entry.changed for entry in entries) - len(whole),
        "new": [entry.name for path, entry in whole if (path, entry.name) not in known],
        "replaced": [entry.name for path, entry in whole if (path, entry.name) in known],
        "gone": list(index.gone),
        "raw_bytes": sum(entry.nbytes for entry in entries),
        "patch_bytes": written,
    }
