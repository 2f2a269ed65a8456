"""Tensors in files: ``.npy``, ``.npz`` and safetensors, one file or a directory of them."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import CdmaError
from cdma.sim.codec.files import NotATensor, Part, Tensor, read_npy_header, read_safetensors

_SUFFIXES = (".npy", ".npz", ".safetensors")
#: Dimensions of numpy's arrays.
_MOST_DIMENSIONS = 64


class BadTensorFile(CdmaError, ValueError):
    """A file or directory that tensors cannot be read from."""


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a file that has not been read yet."""

    name: str
    bytes: int
    #: The type of its elements, if numpy has none for it.
    dtype: str | None
    #: Reads it; large ones are mapped.
    read: Callable[[], NDArray[Any]]


def find_tensors(path: Path, left_out: Callable[[str], None] = lambda reason: None) -> list[StoredTensor]:
    """Finds the tensors in a file, or in all files below a directory, in the order of the files' names.

    A file of a directory that no tensors can be read from is ``left_out``, unless all are so.
    """
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not files:
            raise BadTensorFile(f"{path} has no file that ends in {', '.join(_SUFFIXES)}")
        found: list[StoredTensor] = []
        for file in files:
            try:
                found += _in_file(file, file.relative_to(path).with_suffix("").as_posix())
            except BadTensorFile as error:
                if file is files[-1] and not found:
                    raise
                left_out(str(error))
        return found
    return list(_in_file(path, path.stem))


def _in_file(path: Path, stem: str) -> Iterator[StoredTensor]:
    readers = {".npy": _npy, ".npz": _npz, ".safetensors": _safetensors}
    if path.suffix not in readers:
        raise BadTensorFile(f"{path} does not end in {', '.join(_SUFFIXES)}, so its format is not known")
    try:
        if path.stat().st_size == 0:
            raise BadTensorFile(f"{path} is empty")
        tensors = list(readers[path.suffix](path))
    except OSError as error:
        raise BadTensorFile(f"cannot read {path}: {error.strerror or error}") from None
    if not tensors:
        raise BadTensorFile(f"{path} holds no tensor")
    # The only tensor of a file has the name of the file.
    for tensor in tensors:
        name = f"{stem}/{tensor.name}" if tensor.name else stem
        yield StoredTensor(name, tensor.bytes, tensor.dtype, tensor.read)


def _npy(path: Path) -> Iterator[StoredTensor]:
    with path.open("rb") as file:
        tensor = _described(str(path), file)
        begin = file.tell()
    available = path.stat().st_size - begin
    _check_size(str(path), tensor, available)
    order: Literal["F", "C"] = "F" if tensor.fortran_order else "C"

    def read() -> NDArray[Any]:
        if not tensor.nbytes:
            return np.zeros(_shape(tensor.shape), tensor.dtype)
        return np.memmap(path, tensor.dtype, "r", begin, _shape(tensor.shape), order)

    yield StoredTensor("", tensor.nbytes, None, read)


def _described(where: str, file: IO[bytes]) -> Tensor:
    """The description of a .npy file, of which the data follow."""
    try:
        return read_npy_header(file)
    except NotATensor as error:
        raise BadTensorFile(f"cannot read {where}: {error}") from None


def _npz(path: Path) -> Iterator[StoredTensor]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except zipfile.BadZipFile as error:
        raise BadTensorFile(f"{path} is not a .npz file: {error}") from None
    for member in members:
        if member.filename.endswith(".npy"):
            name = member.filename.removesuffix(".npy")
            yield StoredTensor(name, member.file_size, None, partial(_npz_member, path, member.filename))


def _npz_member(path: Path, member: str) -> NDArray[Any]:
    where = f"{path}, {member.removesuffix('.npy')}"
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as file:
            tensor = _described(where, file)
            # Its end is read too, so that its checksum is verified.
            data = file.read()
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise BadTensorFile(f"{where} cannot be read: {error or type(error).__name__}") from None
    _check_size(where, tensor, len(data))
    return np.frombuffer(data, tensor.dtype, math.prod(tensor.shape)).reshape(
        _shape(tensor.shape), order="F" if tensor.fortran_order else "C"
    )


def _check_size(where: str, tensor: Tensor, available: int) -> None:
    if tensor.nbytes > available:
        raise BadTensorFile(
            f"{where} has {available:,} bytes of data, but its shape {tensor.shape} of {tensor.dtype} takes "
            f"{tensor.nbytes:,}: it is cut short"
        )


def _shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape, or that of its elements in a row where numpy has no array of so many dimensions."""
    return shape if len(shape) <= _MOST_DIMENSIONS else (math.prod(shape),)


def _safetensors(path: Path) -> Iterator[StoredTensor]:
    with path.open("rb") as file:
        try:
            described = read_safetensors(file, path.stat().st_size)
        except NotATensor as error:
            raise BadTensorFile(f"cannot read {path}: {error}") from None
    for part in described.parts:
        yield StoredTensor(part.name, part.end - part.begin, part.type_name, partial(_mapped, path, part))


def _mapped(path: Path, part: Part) -> NDArray[Any]:
    if part.begin == part.end:
        return np.zeros(_shape(part.shape), part.dtype)
    return np.memmap(path, part.dtype, "r", part.begin, _shape(part.shape))
