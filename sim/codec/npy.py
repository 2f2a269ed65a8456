"""NumPy's ``.npy`` files as streams: their description without their data."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from tokenize import TokenError
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import CdmaError

__all__ = ["NotATensor", "Tensor", "read_npy", "read_npy_header", "write_npy_header"]


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
        """Bytes of data."""
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
