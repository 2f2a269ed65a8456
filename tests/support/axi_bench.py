"""An AXI4 memory for Amaranth's own simulator, with latency, pauses, injected errors and the rules of AXI."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from cdma.hdl.axi.port_shape import PortShape
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from tests.outside.axi_rules import PortRules

__all__ = ["GUARD", "PORTS", "AxiMemory", "offsets_in", "outcomes", "port_shape"]

#: Data bits, longest burst, the share of cycles in which a channel rests, and whether it is pipelined: bursts of 4 KiB are
#: among them, and every kind of block with pauses and without.
PORTS = [(64, 16, 0.4, True), (128, 256, 0.0, False), (512, 64, 0.0, True), (1024, 8, 0.4, False)]


def offsets_in(beat: int) -> list[int]:
    """Where words begin in a beat of so many bytes: at its ends, and in between at up to sixteen places."""
    return sorted({*range(0, beat, max(4, beat // 16)), 4, beat - 4})


def port_shape(
    data_bits: int, burst: int, outstanding: int = 3, realign: bool = False, pipelined: bool = False
) -> PortShape:
    """Returns a port with 20 address bits, words of 32 bits, and a buffer of two bursts."""
    return PortShape(
        word_bits=32,
        data_bits=data_bits,
        address_bits=20,
        burst=burst,
        outstanding=outstanding,
        buffer=2 * burst,
        realign=realign,
        pipelined=pipelined,
    )


#: What memory holds before anyone writes to it.
GUARD = 0xA5


class AxiMemory:
    """A memory on a component's read port, its write port, or both.

    ``pause`` is the share of cycles in which each channel rests; ``faults`` maps byte addresses to the
    response that a beat with one of them gets.
    """

    def __init__(
        self,
        *,
        size: int = 1 << 16,
        read: Any = None,
        write: Any = None,
        latency: int = 3,
        pause: float = 0.0,
        seed: int = 0,
        longest: int = 256,
        outstanding: int = 256,
    ) -> None:
        self.bytes = bytearray([GUARD]) * size
        self.read, self.write = read, write
        self.latency = latency
        self.pause = pause
        self.random = random.Random(seed)
        self.faults: dict[int, int] = {}
        self.asked: list[tuple[int, int]] = []
        self.written: list[tuple[int, int]] = []
        self.cycle = 0
        self._values: dict[str, int] = {}
        #: The beats to be read, each with the cycle from which it may come: due, id, address, size, last.
        self._reads: deque[tuple[int, int, int, int, int]] = deque()
        #: The bursts being written: id, address, size. Of the first, the beats that came and their worst response.
        self._writes: deque[tuple[int, int, int]] = deque()
        self._beats_done = self._worst = 0
        #: The answers to writes: due, id, response.
        self._answers: deque[tuple[int, int, int]] = deque()
        #: Whether the payload on the channel stays until it is taken.
        self._r_held = self._b_held = False
        width = (read.r.payload.data if read is not None else write.w.payload.data).shape().width
        self.beat_bytes = width // 8
        self.rules = PortRules("memory", width // 8, lambda name: self._values.get(name, 0))
        self.rules.beats, self.rules.data_limit = longest, outstanding

    async def answer(self, ctx: Any) -> None:
        """Answers for as long as the simulation runs."""
        while True:
            if self.read is not None:
                self._offer_read(ctx)
            if self.write is not None:
                self._offer_write(ctx)
            await ctx.delay(0.1e-9)
            self._values = self._sample(ctx)
            await ctx.tick()
            self.rules.sample(resetting=False)
            self.cycle += 1
            self._take_read(self._values)
            self._take_write(self._values)

    def _rests(self) -> bool:
        """Draws whether a channel rests in this cycle."""
        return self.pause > 0 and self.random.random() < self.pause

    def _offer_read(self, ctx: Any) -> None:
        """Drives what a read port sees in this cycle: whether it may ask, and the next beat when that is due."""
        r = self.read.r
        ctx.set(self.read.ar.ready, int(not self._rests()))
        if not self._r_held and self._reads and self._reads[0][0] <= self.cycle and not self._rests():
            _, id, address, size, last = self._reads[0]
            start = address - address % self.beat_bytes
            data = int.from_bytes(self.bytes[start : start + self.beat_bytes], "little")
            resp = self._fault(address, 1 << size)
            ctx.set(r.payload, {"id": id, "data": data, "resp": resp, "last": last})
            self._r_held = True
        ctx.set(r.valid, int(self._r_held))

    def _offer_write(self, ctx: Any) -> None:
        """Drives what a write port sees in this cycle: whether it may send, and the next answer when that is due."""
        b = self.write.b
        ctx.set(self.write.aw.ready, int(not self._rests()))
        ctx.set(self.write.w.ready, int(bool(self._writes) and not self._rests()))
        if not self._b_held and self._answers and self._answers[0][0] <= self.cycle and not self._rests():
            _, id, resp = self._answers[0]
            ctx.set(b.payload, {"id": id, "resp": resp})
            self._b_held = True
        ctx.set(b.valid, int(self._b_held))

    def _take_read(self, values: dict[str, int]) -> None:
        """Notes the read that was asked for in this cycle, and the beat that was taken."""
        if values.get("arvalid") and values["arready"]:
            beats = values["arlen"] + 1
            assert not values["araddr"] % (1 << values["arsize"]), "a read is not aligned to its beats"
            self.asked.append((values["araddr"], beats))
            for beat in range(beats):
                address = values["araddr"] + (beat << values["arsize"])
                due = self.cycle + self.latency
                self._reads.append((due, values["arid"], address, values["arsize"], int(beat == beats - 1)))
        if values.get("rvalid") and values["rready"]:
            self._reads.popleft()
            self._r_held = False

    def _take_write(self, values: dict[str, int]) -> None:
        """Notes the write that was asked for in this cycle, stores the beat that came, and the answer that was taken."""
        if values.get("awvalid") and values["awready"]:
            assert not values["awaddr"] % (1 << values["awsize"]), "a write is not aligned to its beats"
            self.written.append((values["awaddr"], values["awlen"] + 1))
            self._writes.append((values["awid"], values["awaddr"], values["awsize"]))
        if values.get("wvalid") and values["wready"]:
            assert values["wstrb"], "a write beat has no strobe"
            id, first, size = self._writes[0]
            address = first + (self._beats_done << size)
            self._beats_done += 1
            self._worst = max(self._worst, self._fault(address, 1 << size))
            start = address - address % self.beat_bytes
            for lane in range(self.beat_bytes):
                if values["wstrb"] >> lane & 1:
                    self.bytes[start + lane] = values["wdata"] >> 8 * lane & 0xFF
            if values["wlast"]:
                self._answers.append((self.cycle + self.latency, id, self._worst))
                self._writes.popleft()
                self._beats_done = self._worst = 0
        if values.get("bvalid") and values["bready"]:
            self._answers.popleft()
            self._b_held = False

    def _fault(self, address: int, count: int) -> int:
        return (
            max((self.faults.get(at, 0) for at in range(address, address + count)), default=0)
            if self.faults
            else 0
        )

    def _sample(self, ctx: Any) -> dict[str, int]:
        values: dict[str, int] = {}
        for port, names in ((self.read, ("ar", "r")), (self.write, ("aw", "w", "b"))):
            if port is None:
                continue
            for name in names:
                stream = getattr(port, name)
                values[f"{name}valid"] = int(ctx.get(stream.valid))
                values[f"{name}ready"] = int(ctx.get(stream.ready))
                payload = ctx.get(stream.payload)
                for key in payload.shape().members:
                    value = payload[key]
                    full = {"address": "addr"}.get(key, key)
                    values[f"{name}{full}"] = int(value.value if hasattr(value, "value") else value)
                if name == "w":
                    lanes = payload.shape()["keep"].width
                    per_word = self.beat_bytes // lanes
                    keep = values["wkeep"]
                    values["wstrb"] = sum(
                        ((1 << per_word) - 1) << lane * per_word for lane in range(lanes) if keep >> lane & 1
                    )
                if name in ("ar", "aw"):
                    values[f"{name}burst"] = 1
        return values


async def outcomes(ctx: Any, dut: AxiReader | AxiWriter, count: int) -> AsyncIterator[tuple[int, int]]:
    """Yields ``(response, address)`` for ``count`` commands, each in the cycle in which it is done.

    The address is the one that was noted, or 0.
    """
    outcome, noted = dut.outcome, 0
    while count:
        if ctx.get(outcome.note):
            noted = ctx.get(outcome.address)
        if ctx.get(outcome.done):
            yield ctx.get(outcome.resp).value, noted
            noted = 0
            count -= 1
        await ctx.tick()
