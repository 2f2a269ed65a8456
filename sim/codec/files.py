"""Reads and writes files of tensors: .npy and .safetensors."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from tokenize import TokenError
from typing import IO, Any, BinaryIO, TypeGuard

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import CdmaError


class NotATensor(CdmaError, ValueError):
    """A file is no ``.npy`` file, or its elements are not numbers."""


@dataclass(frozen=True)
class Tensor:
    """The description of the data of a ``.npy`` file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    #: The data lies in Fortran order: the first index runs fastest.
    fortran_order: bool = False

    def __post_init__(self) -> None:
        if self.dtype.kind not in "biufc":
            raise NotATensor(
                f"it holds elements of type {self.dtype}, not integers, floating-point or complex numbers "
                "(save other types, such as bfloat16, viewed as unsigned integers)"
            )
        if any(size < 0 for size in self.shape):
            raise NotATensor(f"it has the shape {self.shape}; no dimension may be negative")

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_npy_header(file: IO[bytes]) -> Tensor:
    """Reads the description, up to the first byte of data."""
    try:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, fortran_order, dtype = np.lib.format.read_array_header_2_0(file)
        else:
            raise NotATensor(
                f"it is a .npy file of version {version[0]}.{version[1]}, which only records need"
            )
    except NotATensor:
        raise
    except (ValueError, EOFError, SyntaxError, TokenError, RecursionError) as error:
        raise NotATensor(f"it is not a .npy file: {error}") from None
    return Tensor(shape, dtype, fortran_order)


def read_npy(file: BinaryIO, most_bytes: int | None = None) -> NDArray[Any]:
    """Reads the elements in the order of the file, and in this machine's order of bytes; of the first ``most_bytes``."""
    described = read_npy_header(file)
    begin = file.tell()
    available = file.seek(0, os.SEEK_END) - begin
    if not described.nbytes:
        raise NotATensor(f"its shape is {described.shape}, which has no element")
    if described.nbytes > available:
        raise NotATensor(
            f"it has {available:,} bytes of data, and its shape {described.shape} takes {described.nbytes:,}"
        )
    file.seek(begin)
    size = described.nbytes
    if most_bytes is not None:
        item = described.dtype.itemsize
        size = min(size, -(-most_bytes // item) * item)
    # A device has the numbers in its own order of bytes, which is that of this machine.
    return np.frombuffer(file.read(size), described.dtype).astype(
        described.dtype.newbyteorder("="), copy=False
    )


def write_npy_header(file: BinaryIO, tensor: Tensor) -> None:
    """Writes everything before the first byte of data."""
    description = {
        "descr": np.lib.format.dtype_to_descr(tensor.dtype),
        "fortran_order": tensor.fortran_order,
        "shape": tensor.shape,
    }
    np.lib.format.write_array_header_1_0(file, description)


#: The names of types: numpy's type of the same bits, and the name to show.
_TYPES = {
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


@dataclass(frozen=True)
class Part:
    """A tensor of a file: numpy's type of the same bits, the type's name, and where its data begin and end."""

    name: str
    dtype: np.dtype[Any]
    type_name: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Safetensors:
    """All bytes before the data of a file, and its tensors in the order of the header."""

    head: bytes
    parts: tuple[Part, ...]


def read_safetensors(file: BinaryIO, size: int) -> Safetensors:
    """Reads the description from the beginning of a file of ``size`` bytes, up to the first byte of data."""
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > size - 8 or length > _LONGEST_HEADER:
        raise NotATensor(
            f"it is not a safetensors file, or is cut short: it has {size} bytes, "
            f"and its first 8 say that a header of {length} bytes follows"
        )
    text = file.read(length)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotATensor(f"it has a header that is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise NotATensor("it has a header that is not a JSON object")
    begin = 8 + length
    described = ((name, entry) for name, entry in header.items() if name != "__metadata__")
    return Safetensors(
        start + text, tuple(_part(name, entry, begin, size - begin) for name, entry in described)
    )


def _part(name: str, entry: Any, begin: int, available: int) -> Part:
    where = f"its tensor {name!r}"
    if not isinstance(entry, dict):
        raise NotATensor(f"{where} is described by {entry!r}, not by a JSON object")
    kind, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not isinstance(kind, str) or kind not in _TYPES:
        raise NotATensor(f"{where} has the type {kind!r}; known are {', '.join(_TYPES)}")
    if not _is_whole_numbers(shape):
        raise NotATensor(f"{where} has the shape {shape!r}; it must be a list of whole numbers, 0 or more")
    if not _is_whole_numbers(offsets) or len(offsets) != 2:
        raise NotATensor(f"{where} has data_offsets {offsets!r}; it must be a list of two whole numbers")
    dtype, shown = np.dtype(_TYPES[kind][0]), _TYPES[kind][1]
    first, end = offsets
    if end > available:
        raise NotATensor(
            f"{where} ends at byte {end} of the data, but the file has only {available}: it is cut short"
        )
    if end - first != math.prod(shape) * dtype.itemsize:
        raise NotATensor(
            f"{where} has {end - first} bytes, but its shape {shape} of {shown} takes "
            f"{math.prod(shape) * dtype.itemsize}"
        )
    return Part(name, dtype, shown, tuple(shape), begin + first, begin + end)


def _is_whole_numbers(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(
        isinstance(entry, int) and not isinstance(entry, bool) and entry >= 0 for entry in value
    )
