"""A master at the register port of an engine, which is AXI4-Lite. Its handshakes are C++ (ends.h)."""

from __future__ import annotations

import ctypes
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from cocotb.triggers import Event
from cocotbext.axi import AxiResp

from cdma.hdl.spec.protection import USUAL_PROT

from .edges import Edges
from .memory_port import Pauses
from .native import library

__all__ = ["RegisterBus", "Response"]

_BYTES = 4
#: The response to what a reset has cut off.
_CUT_OFF = 4


class _Port(ctypes.Structure):
    _fields_ = [("seed", ctypes.c_uint64), ("pauses", Pauses)]


class _Given(ctypes.Structure):
    _fields_ = [("write", ctypes.c_uint64), ("resp", ctypes.c_uint64), ("data", ctypes.c_uint64)]


@dataclass(frozen=True)
class Response:
    """What a read or a write was answered with."""

    resp: AxiResp
    data: bytes = b""


@dataclass
class _Access:
    """An access that waits for its response."""

    done: Event = field(default_factory=Event)
    response: Response | None = None


class RegisterBus:
    """Gives reads and writes to the port, each kind in the order of its calls, several in flight.

    ``pauses``
        The share of cycles in which each channel rests.
    """

    def __init__(self, edges: Edges, dut: Any, prefix: str, clock: str, rng: random.Random) -> None:
        self._port = _Port(seed=rng.getrandbits(64))
        edges.keep(self._port)
        self.pauses: Pauses = self._port.pauses
        self._end = edges.call(
            "registers",
            edges.clock(clock),
            ctypes.addressof(self._port),
            f"{dut._path}.{prefix}".encode(),
        )
        self._given = _Given()
        self._waiting: dict[bool, deque[_Access]] = {True: deque(), False: deque()}

    async def write(self, address: int, data: bytes, prot: int = USUAL_PROT) -> Response:
        """Writes bytes that lie in one register."""
        first = address % _BYTES
        value = int.from_bytes(data, "little") << 8 * first
        strobes = ((1 << len(data)) - 1) << first
        library().registers_write(self._end, address, prot, value, strobes)
        return await self._wait(write=True)

    async def read(self, address: int, prot: int = USUAL_PROT) -> Response:
        """Reads a register."""
        library().registers_read(self._end, address, prot)
        return await self._wait(write=False)

    async def _wait(self, *, write: bool) -> Response:
        access = _Access()
        self._waiting[write].append(access)
        await access.done.wait()
        assert access.response is not None, "a reset cut the access off"
        return access.response

    def deliver(self) -> None:
        """Gives the responses that have come to those who wait for them."""
        given = self._given
        while library().registers_next(self._end, ctypes.addressof(given)):
            access = self._waiting[bool(given.write)].popleft()
            if given.resp != _CUT_OFF:
                data = b"" if given.write else given.data.to_bytes(_BYTES, "little")
                access.response = Response(AxiResp(given.resp), data)
            access.done.set()
