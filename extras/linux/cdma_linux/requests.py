"""What ``/dev/cdmaN`` is asked for, as ``cdma_ioctl.h`` has it."""

from __future__ import annotations

import ctypes
import enum
from typing import Annotated, TypeVar, get_type_hints


class Direction(enum.IntEnum):
    """Where a transfer goes."""

    OFFLOAD = 0
    PREFETCH = 1


T = TypeVar("T", bound=type[ctypes.Structure])
U32 = Annotated[int, ctypes.c_uint32]
U64 = Annotated[int, ctypes.c_uint64]
S32 = Annotated[int, ctypes.c_int32]


def _structure(kind: T) -> T:
    """A structure of the fields that its annotations name, in their order."""
    hints = get_type_hints(kind, include_extras=True)
    kind._fields_ = [(name, hint.__metadata__[0]) for name, hint in hints.items()]
    return kind


@_structure
class Info(ctypes.Structure):
    """The engine, as it was generated."""

    word_bits: U32
    window: U32
    code_bits: U32
    field_bits: U32
    padding: U32
    device_align: U32
    in_flight: U32
    crc: U32
    table: U32
    lossy: U32
    direct: U32
    version: U32
    device_bytes: U64
    host_bytes: U64


@_structure
class Range(ctypes.Structure):
    """A piece of the accelerator's memory."""

    bytes: U64
    address: U64


@_structure
class Request(ctypes.Structure):
    """A transfer."""

    direction: U32
    mode: U32
    device: U64
    bytes: U64
    host: U64
    host_bytes: U64
    cookie: U64
    flags: U32
    crc: U32
    dmabuf: S32
    step: U32
    table: U64
    entries: U32
    reserved: U32


@_structure
class Reply(ctypes.Structure):
    """What became of one."""

    cookie: U64
    bytes_read: U64
    bytes_written: U64
    fault: U64
    cycles: U64
    literals: U32
    status: U32
    crc: U32
    range: U32


@_structure
class Batch(ctypes.Structure):
    """Requests, or room for replies, in a row; ``size`` is that of each."""

    first: U64
    count: U32
    size: U32

    @classmethod
    def of(cls, one: Request | Reply) -> Batch:
        """The row of one."""
        return cls(ctypes.addressof(one), 1, ctypes.sizeof(one))


#: Of :attr:`Request.flags`: ends in an error unless the data have this CRC.
CHECK_CRC = 1
#: Of :attr:`Reply.fault`.
NO_FAULT = (1 << 64) - 1

_WRITE, _READ = 1, 2
_DRIVER = 0xCD


def _command(direction: int, number: int, argument: type[ctypes.Structure]) -> int:
    return direction << 30 | ctypes.sizeof(argument) << 16 | _DRIVER << 8 | number


INFO = _command(_READ, 0x40, Info)
ALLOCATE = _command(_READ | _WRITE, 0x41, Range)
SUBMIT = _command(_WRITE, 0x43, Batch)
REAP = _command(_WRITE, 0x44, Batch)
