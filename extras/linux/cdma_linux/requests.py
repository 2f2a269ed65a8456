"""What ``/dev/cdmaN`` is asked for, as ``cdma_ioctl.h`` has it."""

from __future__ import annotations

import ctypes
import enum


class Direction(enum.IntEnum):
    """Where a transfer goes."""

    OFFLOAD = 0
    PREFETCH = 1


class Info(ctypes.Structure):
    """The engine, as it was generated."""

    _fields_ = [
        *(
            (name, ctypes.c_uint32)
            for name in [
                "word_bits",
                "window",
                "code_bits",
                "field_bits",
                "padding",
                "device_align",
                "in_flight",
                "crc",
                "table",
                "lossy",
                "direct",
                "version",
            ]
        ),
        ("device_bytes", ctypes.c_uint64),
        ("host_bytes", ctypes.c_uint64),
    ]
    word_bits: int
    window: int
    code_bits: int
    field_bits: int
    padding: int
    device_align: int
    in_flight: int
    crc: int
    table: int
    lossy: int
    direct: int
    version: int
    device_bytes: int
    host_bytes: int


class Range(ctypes.Structure):
    """A piece of the accelerator's memory."""

    _fields_ = [("bytes", ctypes.c_uint64), ("address", ctypes.c_uint64)]
    bytes: int
    address: int


class Request(ctypes.Structure):
    """A transfer."""

    _fields_ = [
        ("direction", ctypes.c_uint32),
        ("mode", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("device", "bytes", "host", "host_bytes", "cookie")),
        ("flags", ctypes.c_uint32),
        ("crc", ctypes.c_uint32),
        ("dmabuf", ctypes.c_int32),
        ("step", ctypes.c_uint32),
        ("table", ctypes.c_uint64),
        ("entries", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    ]
    direction: int
    mode: int
    device: int
    bytes: int
    host: int
    host_bytes: int
    cookie: int
    flags: int
    crc: int
    dmabuf: int
    step: int
    table: int
    entries: int
    reserved: int


class Reply(ctypes.Structure):
    """What became of one."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in ("cookie", "bytes_read", "bytes_written", "fault", "cycles")),
        *((name, ctypes.c_uint32) for name in ("literals", "status", "crc", "range")),
    ]
    cookie: int
    bytes_read: int
    bytes_written: int
    fault: int
    cycles: int
    literals: int
    status: int
    crc: int
    range: int


class Batch(ctypes.Structure):
    """Requests, or room for replies, in a row; ``size`` is that of each."""

    _fields_ = [("first", ctypes.c_uint64), ("count", ctypes.c_uint32), ("size", ctypes.c_uint32)]
    first: int
    count: int
    size: int

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
