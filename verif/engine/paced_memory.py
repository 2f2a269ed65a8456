"""A memory of fixed latency that never holds back, and the bench that measures with it."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time

from .measure import MOST_BYTES
from .ports_bench import PERIOD_NS
from .ring import RingBench

__all__ = ["DESTINATION", "SOURCE", "PacedBench", "PacedMemory"]

#: Where data are read from, and where they are written to.
SOURCE = 0x100000
DESTINATION = SOURCE + MOST_BYTES
_SIZE = DESTINATION + MOST_BYTES

_READ_PINS = (
    *("arvalid", "arready", "araddr", "arlen", "arsize", "arid"),
    *("rvalid", "rready", "rdata", "rlast", "rresp", "rid"),
)
_WRITE_PINS = (
    *("awvalid", "awready", "awaddr", "awlen", "awsize", "awid"),
    *("wvalid", "wready", "wdata", "wstrb", "wlast"),
    *("bvalid", "bready", "bresp", "bid"),
)


class PacedMemory:
    """Takes an address, a beat of data and gives a beat of data in every cycle, at each of its ports; answers ``latency``
    cycles later.
    """

    def __init__(self) -> None:
        self.bytes = bytearray(_SIZE)
        self.latency = 0
        self.first_read: int | None = None
        self.last_answer: int | None = None

    def read(self, address: int, length: int) -> bytes:
        return bytes(self.bytes[address : address + length])

    def write(self, address: int, data: bytes) -> None:
        self.bytes[address : address + len(data)] = data

    def allow(self, address: int, length: int, allowed: bool = True) -> None:
        """Every address may be written here: the regression is where that is checked."""

    async def serve_reads(self, dut: Any, prefix: str) -> None:
        """Serves the read channels of a port."""
        pins = _pins(dut, prefix, _READ_PINS)
        pins["arready"].value = 1
        for name in ("rvalid", "rresp"):
            pins[name].value = 0
        beat_bytes = len(pins["rdata"]) // 8
        arvalid, rvalid, rready, rdata = (pins[name] for name in ("arvalid", "rvalid", "rready", "rdata"))
        edge = RisingEdge(dut.aclk)
        cycle = 0
        reads: deque[tuple[int, int, int, int]] = deque()
        shown = False
        #: What the pins beside the data have, so that they are set only when that changes.
        kept: tuple[int, int] | None = None
        while True:
            if not reads and not shown:
                cycle = await _begin(arvalid)
            await edge
            cycle += 1
            if arvalid.value:
                address, count, size, id = (
                    _number(pins[name]) for name in ("araddr", "arlen", "arsize", "arid")
                )
                if self.first_read is None and address >= SOURCE:
                    self.first_read = cycle
                for beat in range(count + 1):
                    reads.append((cycle + self.latency, address + (beat << size), id, beat == count))
            if shown and not rready.value:
                continue
            if reads and reads[0][0] <= cycle:
                _, address, id, last = reads.popleft()
                at = address // beat_bytes * beat_bytes
                rdata.value = int.from_bytes(self.bytes[at : at + beat_bytes], "little")
                if kept != (id, last):
                    kept = id, last
                    pins["rid"].value = id
                    pins["rlast"].value = last
                if not shown:
                    rvalid.value = 1
                shown = True
            elif shown:
                rvalid.value = 0
                shown = False

    async def serve_writes(self, dut: Any, prefix: str) -> None:
        """Serves the write channels of a port, whose data come after their address."""
        pins = _pins(dut, prefix, _WRITE_PINS)
        for name in ("awready", "wready"):
            pins[name].value = 1
        for name in ("bvalid", "bresp"):
            pins[name].value = 0
        beat_bytes = len(pins["wstrb"])
        every = (1 << beat_bytes) - 1
        awvalid, wvalid, wdata, wstrb = (pins[name] for name in ("awvalid", "wvalid", "wdata", "wstrb"))
        edge = RisingEdge(dut.aclk)
        cycle = 0
        writes: deque[tuple[int, int, int]] = deque()
        answers: deque[tuple[int, int]] = deque()
        shown = False
        beats_done = 0
        while True:
            if not writes and not answers and not shown:
                cycle = await _begin(awvalid)
            await edge
            cycle += 1
            if writes and wvalid.value:
                address, size, id = writes[0]
                at = (address + (beats_done << size)) // beat_bytes * beat_bytes
                beats_done += 1
                data = _number(wdata).to_bytes(beat_bytes, "little")
                strobes = _number(wstrb)
                if strobes == every:
                    self.bytes[at : at + beat_bytes] = data
                else:
                    for lane in range(beat_bytes):
                        if strobes >> lane & 1:
                            self.bytes[at + lane] = data[lane]
                if pins["wlast"].value:
                    writes.popleft()
                    beats_done = 0
                    answers.append((cycle + self.latency, id))
                    if address >= DESTINATION:
                        self.last_answer = max(self.last_answer or 0, cycle + self.latency)
            if awvalid.value:
                address, size, id = (_number(pins[name]) for name in ("awaddr", "awsize", "awid"))
                writes.append((address, size, id))
            if shown and not pins["bready"].value:
                continue
            shown = bool(answers) and answers[0][0] <= cycle
            if shown:
                pins["bid"].value = answers.popleft()[1]
            pins["bvalid"].value = shown


def _pins(dut: Any, prefix: str, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(dut, f"{prefix}_{name}") for name in names}


def _number(pin: Any) -> int:
    return int(pin.value)


async def _begin(valid: Any) -> int:
    """Waits for a first request: an idle port costs nothing per cycle. Returns the cycles until now."""
    if not valid.value:
        await RisingEdge(valid)
    return int(get_sim_time("ns")) // PERIOD_NS


class PacedBench(RingBench):
    """The bench with paced memories."""

    def make_memory(self, name: str) -> PacedMemory:
        memory = PacedMemory()
        for port in self.port_names[name]:
            for serve in (memory.serve_reads, memory.serve_writes):
                cocotb.start_soon(self.blame(serve(self.dut, f"m_axi_{port}")))
        return memory
