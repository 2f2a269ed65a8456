"""Tensors in files: ``.npy``, ``.npz`` and safetensors, one file or a directory of them."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.errors import CdmaError

__all__ = ["BadTensorFile", "StoredTensor", "find_tensors"]

_SUFFIXES = (".npy", ".npz", ".safetensors")

#: safetensors' names of types: numpy's type of the same bits, and the name to show.
_SAFETENSORS = {
    "BOOL": ("u1", "bool"),
    "U8": ("u1", "uint8"),
    "I8": ("i1", "int8"),
    "F8_E4M3": ("u1", "float8_e4m3"),
    "F8_E5M2": ("u1", "float8_e5m2"),
    "U16": ("<u2", "uint16"),
    "I16": ("<i2", "int16"),
    "F16": ("<f2", "float16"),
    "BF16": ("<u2", "bfloat16"),
    "U32": ("<u4", "uint32"),
    "I32": ("<i4", "int32"),
    "F32": ("<f4", "float32"),
    "U64": ("<u8", "uint64"),
    "I64": ("<i8", "int64"),
    "F64": ("<f8", "float64"),
}
#: The longest header that is read: the format's own limit.
_LONGEST_HEADER = 100_000_000


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


def find_tensors(path: Path) -> list[StoredTensor]:
    """Finds the tensors in a file, or in all files below a directory, in the order of the files' names."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not files:
            raise BadTensorFile(f"{path} has no file that ends in {', '.join(_SUFFIXES)}")
        return [
            tensor
            for file in files
            for tensor in _in_file(file, file.relative_to(path).with_suffix("").as_posix())
        ]
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


def _require_numbers(where: str, array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.hasobject or array.dtype.kind not in "biufc":
        raise BadTensorFile(
            f"{where} holds {array.dtype}, not integers or floating-point numbers "
            "(save other types, such as bfloat16, viewed as unsigned integers)"
        )
    return array


def _npy(path: Path) -> Iterator[StoredTensor]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise BadTensorFile(f"{path} is not a .npy file of numbers: {_reason(error)}") from None
    _require_numbers(str(path), array)
    yield StoredTensor("", array.nbytes, None, lambda: array)


def _npz(path: Path) -> Iterator[StoredTensor]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except zipfile.BadZipFile as error:
        raise BadTensorFile(f"{path} is not a .npz file: {error}") from None
    for member in members:
        if member.filename.endswith(".npy"):
            name = member.filename.removesuffix(".npy")
            yield StoredTensor(name, member.file_size, None, partial(_npz_member, path, name))


def _npz_member(path: Path, name: str) -> NDArray[Any]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            array: NDArray[Any] = archive[name]
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise BadTensorFile(f"{path}, {name} cannot be read: {_reason(error)}") from None
    return _require_numbers(f"{path}, {name}", array)


def _reason(error: Exception) -> str:
    """Returns numpy's reason without its advice to allow pickled objects, which would run code from the file."""
    text = str(error) or type(error).__name__
    objects = "pickle" in text.lower() or "Python objects" in text
    return "it holds pickled objects" if objects else text


def _safetensors(path: Path) -> Iterator[StoredTensor]:
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if len(start) < 8 or length > size - 8 or length > _LONGEST_HEADER:
            raise BadTensorFile(
                f"{path} is not a safetensors file, or is cut short: it has {size} bytes, "
                f"and its first 8 say that a header of {length} bytes follows"
            )
        text = file.read(length)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadTensorFile(f"{path} has a header that is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise BadTensorFile(f"{path} has a header that is not a JSON object")
    begin = 8 + length
    for name, entry in header.items():
        if name != "__metadata__":
            yield _safetensor(path, name, entry, begin, size - begin)


def _safetensor(path: Path, name: str, entry: Any, begin: int, available: int) -> StoredTensor:
    where = f"{path}, tensor {name!r}"
    if not isinstance(entry, dict):
        raise BadTensorFile(f"{where} is described by {entry!r}, not by a JSON object")
    kind, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    if kind not in _SAFETENSORS:
        raise BadTensorFile(f"{where} has the type {kind!r}; known are {', '.join(_SAFETENSORS)}")
    if not _is_whole_numbers(shape):
        raise BadTensorFile(f"{where} has the shape {shape!r}; it must be a list of whole numbers, 0 or more")
    if not _is_whole_numbers(offsets) or len(offsets) != 2:
        raise BadTensorFile(f"{where} has data_offsets {offsets!r}; it must be a list of two whole numbers")
    dtype, shown = np.dtype(_SAFETENSORS[kind][0]), _SAFETENSORS[kind][1]
    first, end = offsets
    if end > available:
        raise BadTensorFile(
            f"{where} ends at byte {end} of the data, but the file has only {available}: it is cut short"
        )
    if end - first != math.prod(shape) * dtype.itemsize:
        raise BadTensorFile(
            f"{where} has {end - first} bytes, but its shape {shape} of {shown} takes "
            f"{math.prod(shape) * dtype.itemsize}"
        )

    def read() -> NDArray[Any]:
        if first == end:
            return np.zeros(shape, dtype)
        return np.memmap(path, dtype, "r", begin + first, tuple(shape))

    return StoredTensor(name, end - first, shown, read)


def _is_whole_numbers(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(
        isinstance(entry, int) and not isinstance(entry, bool) and entry >= 0 for entry in value
    )
