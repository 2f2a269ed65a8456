"""What patches are made of: tensors of files, of folders and of programs, whose bytes are read a part at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import CdmaError
from cdma.hdl.spec.format import Format

from .bundle import data_order
from .files import NotATensor, read_npy_header, read_safetensors
from .words import words_of

Octets = NDArray[np.uint8]

#: Tensors are read, and compressed, so many bytes at a time.
CHUNK_BYTES = 1 << 22


#: The name of what a file alone holds, if the file has none for it.
ALONE = "data"


class DeltaError(CdmaError, ValueError):
    """Files that no patch can be made of, or a patch or a base that is another one or damaged."""


@dataclass(frozen=True)
class Piece:
    """A tensor, or all bytes of a file that is none.

    ``type``: The name of its type, as people know it.
    ``dtype``: The type of the same bits that numpy has.
    ``read``: Gives the bytes from a place on, so many of them.
    """

    name: str
    type: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    nbytes: int
    read: Callable[[int, int], Octets]


@dataclass(frozen=True)
class Source:
    """A file, by its path below the folder, which is empty for a file alone; or the tensors of a program.

    ``kind``: ``safetensors``, ``npy``, ``bytes`` for any other file, or ``tensors`` of a program.
    ``head``: The bytes of the file before its tensors, which are all of the rest, one after the other.
    """

    path: str
    kind: str
    head: bytes
    pieces: tuple[Piece, ...]


def sources_of(path: Path) -> list[Source]:
    """The files of a folder, those in folders below it among them; or the file that the path is of."""
    if not path.is_dir():
        return [_source_of(path, "")]
    folders = os.walk(path, onerror=_refuse, followlinks=True)
    found = (Path(folder, name) for folder, _, names in folders for name in names)
    return [_source_of(file, file.relative_to(path).as_posix()) for file in sorted(found)]


def _refuse(error: OSError) -> None:
    raise DeltaError(f"cannot read {error.filename}: {error.strerror or error}")


def tensors_of(tensors: Mapping[str, Any]) -> Source:
    """The tensors of a program, each an array or a tensor of PyTorch."""
    return Source("", "tensors", b"", tuple(_of_array(name, tensor) for name, tensor in tensors.items()))


def octets_of(tensor: Any) -> Octets:
    """The bytes of a tensor, which share its memory if it is contiguous."""
    return words_of(tensor, Format(8))


def require_memory(name: str, tensor: Any) -> None:
    """Refuses a tensor that cannot be changed where it is."""
    octets = octets_of(tensor)
    if len(octets) and not (np.may_share_memory(octets, octets_of(tensor)) and octets.flags.writeable):
        raise DeltaError(f"tensor {name!r} cannot be changed in place; it must be contiguous and writable")


def _of_array(name: str, tensor: Any) -> Piece:
    octets, shape = octets_of(tensor), tuple(int(size) for size in np.shape(tensor))
    count = int(np.prod(shape, dtype=np.int64))
    item = octets.nbytes // count if count else 1
    type_name = str(tensor.dtype).removeprefix("torch.") if hasattr(tensor, "dtype") else "uint8"
    try:
        dtype = np.dtype(type_name)
    except TypeError:
        # A type of PyTorch or ml_dtypes that numpy lacks.
        dtype = np.dtype(f"u{item}")
    dtype = dtype if dtype.isbuiltin == 1 else np.dtype(f"u{item}")
    return Piece(name, type_name, dtype, shape, octets.nbytes, lambda at, size: octets[at : at + size])


def _source_of(path: Path, name: str) -> Source:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            if path.suffix == ".safetensors":
                return _safetensors(file, path, name, size)
            if path.suffix == ".npy":
                return _npy(file, path, name, size)
    except NotATensor as error:
        raise DeltaError(f"cannot read {path}: {error}") from None
    except OSError as error:
        raise DeltaError(f"cannot read {path}: {error.strerror or error}") from None
    whole = Piece(name or ALONE, "bytes", np.dtype(np.uint8), (size,), size, _reader(path, 0))
    return Source(name, "bytes", b"", (whole,))


def _safetensors(file: BinaryIO, path: Path, name: str, size: int) -> Source:
    described = read_safetensors(file, size)
    pieces = tuple(
        Piece(
            part.name,
            part.type_name,
            part.dtype,
            part.shape,
            part.end - part.begin,
            _reader(path, part.begin),
        )
        for part in data_order(described, size)
    )
    return Source(name, "safetensors", described.head, pieces)


def _npy(file: BinaryIO, path: Path, name: str, size: int) -> Source:
    tensor = read_npy_header(file)
    begin = file.tell()
    if size - begin != tensor.nbytes:
        raise NotATensor(
            f"it has {size - begin} bytes of data, and its shape {tensor.shape} takes {tensor.nbytes}"
        )
    file.seek(0)
    head = file.read(begin)
    order = ", Fortran order" if tensor.fortran_order else ""
    kind = f"{tensor.dtype.str}{order}" if order or tensor.dtype.byteorder == ">" else str(tensor.dtype)
    piece = Piece(name or ALONE, kind, tensor.dtype, tensor.shape, tensor.nbytes, _reader(path, begin))
    return Source(name, "npy", head, (piece,))


def _reader(path: Path, begin: int) -> Callable[[int, int], Octets]:
    """Reads from a file that is open meanwhile alone: a folder may have many."""

    def read(at: int, size: int) -> Octets:
        octets = np.empty(size, np.uint8)
        try:
            with path.open("rb", buffering=0) as file:
                file.seek(begin + at)
                done = 0
                while done < size and (count := cast(Any, file).readinto(octets[done:].data)):
                    done += count
        except OSError as error:
            raise DeltaError(f"cannot read {path}: {error.strerror or error}") from None
        if done < size:
            raise DeltaError(f"cannot read {path}: it has become shorter meanwhile")
        return octets

    return read
