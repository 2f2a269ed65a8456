"""Files of the safetensors format: the description of their tensors without the data."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeGuard

import numpy as np

from .npy import NotATensor

__all__ = ["Part", "Safetensors", "read_safetensors"]

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
    """A tensor of a file.

    ``dtype``, ``type_name``
        Numpy's type of the same bits, and the name of the type.
    ``begin``, ``end``
        Where its data lie in the file.
    """

    name: str
    dtype: np.dtype[Any]
    type_name: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Safetensors:
    """What precedes the data of a file.

    ``head``
        All bytes before the data.
    ``parts``
        The tensors, in the order of the header.
    """

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
