"""The AXI4-Lite master of the bench, whose handshakes are C++ (ends.h), and the bursts and register accesses of a run."""

from __future__ import annotations

import ctypes
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cocotb.triggers import Event
from cocotbext.axi import AxiResp

from cdma.hdl.spec.options import USUAL_PROT

from .edges import Edges, Pauses
from .memory import library

_BYTES = 4
#: The response to what a reset has cut off.
_CUT_OFF = 4


class _Port(ctypes.Structure):
    _fields_ = [("seed", ctypes.c_uint64), ("pauses", Pauses)]


class _Given(ctypes.Structure):
    _fields_ = [("write", ctypes.c_uint64), ("resp", ctypes.c_uint64), ("data", ctypes.c_uint64)]


@dataclass(frozen=True)
class Response:
    resp: AxiResp
    data: bytes = b""


@dataclass
class _Access:
    """An access that waits for its response."""

    done: Event = field(default_factory=Event)
    response: Response | None = None


class RegisterBus:
    """Reads and writes registers, each kind in the order of its calls, several in flight.

    ``pauses``: The share of cycles in which each channel pauses.
    """

    def __init__(self, edges: Edges, dut: Any, prefix: str, clock: str, rng: random.Random) -> None:
        self._port = _Port(seed=rng.getrandbits(64))
        edges.keep(self._port)
        self.pauses: Pauses = self._port.pauses
        self._end = edges.call(
            "registers", edges.clock(clock), ctypes.addressof(self._port), f"{dut._path}.{prefix}".encode()
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
        library().registers_read(self._end, address, prot)
        return await self._wait(write=False)

    async def _wait(self, *, write: bool) -> Response:
        access = _Access()
        self._waiting[write].append(access)
        await access.done.wait()
        assert access.response is not None, "a reset cut the access off"
        return access.response

    def deliver(self) -> None:
        """Passes responses to whoever waits for them."""
        given = self._given
        while library().registers_next(self._end, ctypes.addressof(given)):
            access = self._waiting[bool(given.write)].popleft()
            if given.resp != _CUT_OFF:
                data = b"" if given.write else given.data.to_bytes(_BYTES, "little")
                access.response = Response(AxiResp(given.resp), data)
            access.done.set()


Cycle = dict[str, int]


@dataclass(frozen=True)
class Piece:
    cycle: int
    address: int
    data: bytes
    resp: int = 0


@dataclass
class Burst:
    """One burst: from the cycle in which its address is offered to that of its last beat, or of its response."""

    port: str
    write: bool
    id: int
    address: int
    beats: int
    size: int
    first: int
    last: int
    pieces: list[Piece] = field(default_factory=list)
    resp: int = 0
    done: bool = False

    @property
    def data(self) -> bytes:
        return b"".join(piece.data for piece in self.pieces)

    def beat_address(self, beat: int) -> int:
        return self.address if beat == 0 else (self.address & -self.size) + beat * self.size


@dataclass(frozen=True)
class Access:
    """One access to a register. A write ends with its response."""

    first: int
    last: int
    write: bool
    address: int
    data: int
    resp: int


def bursts_of(cycles: Sequence[Cycle], port: str, width: int) -> list[Burst]:
    """The bursts of a port of ``width`` bytes, by the cycles in which they begin."""
    bursts: list[Burst] = []
    reads: list[Burst] = []
    writes: list[Burst] = []
    answers: list[Burst] = []
    offered: dict[str, int] = {}
    for number, cycle in enumerate(cycles):
        moves = {
            channel: _moves(cycle, f"{port}_{channel}", number, offered)
            for channel in ("ar", "r", "aw", "w", "b")
        }
        for channel, queue in (("ar", reads), ("aw", writes)):
            if moves[channel]:
                queue.append(_burst(cycle, port, channel, offered.pop(f"{port}_{channel}"), number))
                bursts.append(queue[-1])
        if moves["r"]:
            burst = next(burst for burst in reads if burst.id == cycle[f"{port}_rid"])
            _take(burst, number, cycle[f"{port}_rdata"], (1 << width) - 1, width, cycle[f"{port}_rresp"])
            if cycle[f"{port}_rlast"]:
                burst.done = True
                reads.remove(burst)
        if moves["w"]:
            _take(writes[0], number, cycle[f"{port}_wdata"], cycle[f"{port}_wstrb"], width, 0)
            if cycle[f"{port}_wlast"]:
                answers.append(writes.pop(0))
        if moves["b"]:
            burst = next(burst for burst in answers if burst.id == cycle[f"{port}_bid"])
            burst.last, burst.resp, burst.done = number, cycle[f"{port}_bresp"], True
            answers.remove(burst)
    return bursts


def accesses_of(cycles: Sequence[Cycle], port: str) -> list[Access]:
    """The accesses on a port of AXI4-Lite, in the order in which they end."""
    accesses: list[Access] = []
    addresses: dict[str, list[tuple[int, int]]] = {"r": [], "b": []}
    data: list[int] = []
    offered: dict[str, int] = {}
    for number, cycle in enumerate(cycles):
        for channel, answer in (("ar", "r"), ("aw", "b")):
            if _moves(cycle, f"{port}_{channel}", number, offered):
                addresses[answer].append((offered.pop(f"{port}_{channel}"), cycle[f"{port}_{channel}addr"]))
        if _moves(cycle, f"{port}_w", number, offered):
            data.append(cycle[f"{port}_wdata"])
        for answer in ("r", "b"):
            if _moves(cycle, f"{port}_{answer}", number, offered):
                first, address = addresses[answer].pop(0)
                value = data.pop(0) if answer == "b" else cycle[f"{port}_rdata"]
                resp = cycle[f"{port}_{answer}resp"]
                accesses.append(Access(first, number, answer == "b", address, value, resp))
    return accesses


def _moves(cycle: Cycle, channel: str, number: int, offered: dict[str, int]) -> bool:
    """Whether a channel has a transfer; keeps the cycle in which it was offered."""
    if not cycle[f"{channel}valid"]:
        return False
    offered.setdefault(channel, number)
    return bool(cycle[f"{channel}ready"])


def _burst(cycle: Cycle, port: str, channel: str, first: int, number: int) -> Burst:
    address, length, size, id_ = (cycle[f"{port}_{channel}{name}"] for name in ("addr", "len", "size", "id"))
    return Burst(port, channel == "aw", id_, address, length + 1, 1 << size, first, number)


def _take(burst: Burst, number: int, data: int, strobes: int, width: int, resp: int) -> None:
    """Adds the next beat to a burst."""
    address = burst.beat_address(len(burst.pieces))
    start = address % width
    end = (address & -burst.size) % width + burst.size
    lanes = [lane for lane in range(start, end) if strobes >> lane & 1]
    kept = bytes(data >> (8 * lane) & 0xFF for lane in lanes)
    first = lanes[0] if lanes else start
    burst.pieces.append(Piece(number, address - start + first, kept, resp))
    burst.last = number
    burst.resp = max(burst.resp, resp)
