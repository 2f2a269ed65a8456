"""A memory of fixed latency that never holds back, and the bench that measures with it."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from .ring import RingBench

__all__ = ["DESTINATION", "SOURCE", "PacedBench", "PacedMemory"]

#: Where data are read from, and where they are written to.
SOURCE, DESTINATION = 0x100000, 0x400000
_SIZE = 0x800000


class PacedMemory:
    """Takes an address, a beat of data and gives a beat of data in every cycle, at each of its ports; answers ``latency``
    cycles later.
    """

    def __init__(self) -> None:
        self.bytes = bytearray(_SIZE)
        self.latency = 0
        self.first_read: int | None = None
        self.last_answer: int | None = None

    def _pins(self, dut: Any, prefix: str) -> dict[str, Any]:
        """The signals of a port, with those set that never change."""
        pins = {
            name: getattr(dut, f"{prefix}_{name}")
            for name in (
                *("arvalid", "arready", "araddr", "arlen", "arsize", "arid"),
                *("rvalid", "rready", "rdata", "rlast", "rresp", "rid"),
                *("awvalid", "awready", "awaddr", "awlen", "awsize", "awid"),
                *("wvalid", "wready", "wdata", "wstrb", "wlast"),
                *("bvalid", "bready", "bresp", "bid"),
            )
        }
        for name in ("arready", "awready", "wready"):
            pins[name].value = 1
        for name in ("rvalid", "bvalid", "rresp", "bresp"):
            pins[name].value = 0
        return pins

    def read(self, address: int, length: int) -> bytes:
        return bytes(self.bytes[address : address + length])

    def write(self, address: int, data: bytes) -> None:
        self.bytes[address : address + len(data)] = data

    def allow(self, address: int, length: int, allowed: bool = True) -> None:
        """Every address may be written here: the regression is where that is checked."""

    async def run(self, dut: Any, prefix: str) -> None:
        """Serves a port."""
        pins = self._pins(dut, prefix)
        beat_bytes = len(pins["wstrb"])
        cycle = 0
        reads: deque[tuple[int, int, int, int]] = deque()
        writes: deque[tuple[int, int, int]] = deque()
        answers: deque[tuple[int, int]] = deque()
        r_shown = b_shown = False
        beats_done = 0
        while True:
            await RisingEdge(dut.aclk)
            cycle += 1
            if pins["arvalid"].value:
                address, count, size = (int(pins[name].value) for name in ("araddr", "arlen", "arsize"))
                id = int(pins["arid"].value)
                if self.first_read is None and address >= SOURCE:
                    self.first_read = cycle
                for beat in range(count + 1):
                    reads.append((cycle + self.latency, address + (beat << size), id, beat == count))
            if r_shown and pins["rready"].value:
                r_shown = False
            if b_shown and pins["bready"].value:
                b_shown = False
            if pins["wvalid"].value:
                address, size, id = writes[0]
                at = (address + (beats_done << size)) // beat_bytes * beat_bytes
                beats_done += 1
                data = int(pins["wdata"].value).to_bytes(beat_bytes, "little")
                strobes = int(pins["wstrb"].value)
                if strobes + 1 == 1 << beat_bytes:
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
                        self.last_answer = cycle + self.latency
            if pins["awvalid"].value:
                address, size, id = (int(pins[name].value) for name in ("awaddr", "awsize", "awid"))
                writes.append((address, size, id))
            if not r_shown:
                if reads and reads[0][0] <= cycle:
                    _, address, id, last = reads.popleft()
                    at = address // beat_bytes * beat_bytes
                    pins["rdata"].value = int.from_bytes(self.bytes[at : at + beat_bytes], "little")
                    pins["rid"].value = id
                    pins["rlast"].value = last
                    pins["rvalid"].value = 1
                    r_shown = True
                else:
                    pins["rvalid"].value = 0
            if not b_shown:
                if answers and answers[0][0] <= cycle:
                    pins["bid"].value = answers.popleft()[1]
                    pins["bvalid"].value = 1
                    b_shown = True
                else:
                    pins["bvalid"].value = 0


class PacedBench(RingBench):
    """The bench with paced memories, and without the protocol checker, which the regression has."""

    checked = False

    def make_memory(self, name: str) -> PacedMemory:
        memory = PacedMemory()
        for port in self.port_names[name]:
            cocotb.start_soon(self.blame(memory.run(self.dut, f"m_axi_{port}")))
        return memory
