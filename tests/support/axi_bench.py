"""An AXI4 memory for Amaranth's own simulator, with latency, pauses and injected errors, and our checker on
its port.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from cdma.hdl.axi.port_shape import PortShape
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.verif.monitors.axi import AxiChecker

__all__ = ["GUARD", "PORTS", "AxiMemory", "outcomes", "port_shape"]

#: Data bits, longest burst, and the share of cycles in which a channel rests: bursts of 4 KiB are among them.
PORTS = [(64, 16, 0.4), (128, 256, 0.0), (512, 64, 0.0), (1024, 8, 0.4)]


def port_shape(data_bits: int, burst: int, outstanding: int = 3, realign: bool = False) -> PortShape:
    """A port with 20 address bits, words of 32 bits, and a buffer of two bursts."""
    return PortShape(
        word_bits=32,
        data_bits=data_bits,
        address_bits=20,
        burst=burst,
        outstanding=outstanding,
        buffer=2 * burst,
        realign=realign,
    )


#: What memory holds before anyone writes to it.
GUARD = 0xA5


class AxiMemory:
    """A memory behind a component's read or write port, or both.

    ``pause`` is the share of cycles in which each channel rests; ``faults`` maps byte addresses to the
    response that a beat there gets."""

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
        self.hang = False
        self.asked: list[tuple[int, int]] = []
        self.written: list[tuple[int, int]] = []
        self.cycle = 0
        self._values: dict[str, int] = {}
        width = (read.r.payload.data if read is not None else write.w.payload.data).shape().width
        self.beat_bytes = width // 8
        self.checker = AxiChecker(
            "memory", lambda name: self._values.get(name, 0), width, longest=longest, outstanding=outstanding
        )

    def _rest(self) -> bool:
        return self.pause > 0 and self.random.random() < self.pause

    async def answer(self, ctx: Any) -> None:
        """Answers for as long as the simulation runs."""
        reads: deque[tuple[int, int, int, int, int]] = deque()  # due, id, address, size, last
        writes: deque[tuple[int, int, int, int]] = deque()  # id, address, beats, size
        answers: deque[tuple[int, int, int]] = deque()  # due, id, resp
        place = done = worst = 0
        r_held = b_held = False
        while True:
            # Drive what this cycle offers.
            if self.read is not None:
                ar, r = self.read.ar, self.read.r
                ctx.set(ar.ready, int(not self._rest() and not self.hang))
                if not r_held and reads and reads[0][0] <= self.cycle and not self._rest() and not self.hang:
                    _, id, address, size, last = reads[0]
                    lane = address % self.beat_bytes
                    start = address - lane
                    data = int.from_bytes(self.bytes[start : start + self.beat_bytes], "little")
                    self._r = {"id": id, "data": data, "resp": self._fault(address, 1 << size), "last": last}
                    ctx.set(r.payload, self._r)
                    r_held = True
                ctx.set(r.valid, int(r_held))
            if self.write is not None:
                aw, w, b = self.write.aw, self.write.w, self.write.b
                ctx.set(aw.ready, int(not self._rest() and not self.hang))
                ctx.set(w.ready, int(bool(writes) and not self._rest() and not self.hang))
                if (
                    not b_held
                    and answers
                    and answers[0][0] <= self.cycle
                    and not self._rest()
                    and not self.hang
                ):
                    self._b = {"id": answers[0][1], "resp": answers[0][2]}
                    ctx.set(b.payload, self._b)
                    b_held = True
                ctx.set(b.valid, int(b_held))
            await ctx.delay(0.1e-9)
            self._values = self._sample(ctx)
            values = self._values
            await ctx.tick()
            self.checker.cycle()
            self.cycle += 1
            if values.get("arvalid") and values["arready"]:
                beats = values["arlen"] + 1
                self.asked.append((values["araddr"], beats))
                for beat in range(beats):
                    address = values["araddr"] + (beat << values["arsize"])
                    due = self.cycle + self.latency
                    reads.append((due, values["arid"], address, values["arsize"], int(beat == beats - 1)))
            if values.get("rvalid") and values["rready"]:
                reads.popleft()
                r_held = False
            if values.get("awvalid") and values["awready"]:
                self.written.append((values["awaddr"], values["awlen"] + 1))
                writes.append((values["awid"], values["awaddr"], values["awlen"] + 1, values["awsize"]))
            if values.get("wvalid") and values["wready"]:
                id, address, beats, size = writes[0]
                place = address + (done << size)
                done += 1
                start = place - place % self.beat_bytes
                worst = max(worst, self._fault(place, 1 << size))
                for lane in range(self.beat_bytes):
                    if values["wstrb"] >> lane & 1:
                        self.bytes[start + lane] = values["wdata"] >> 8 * lane & 0xFF
                if values["wlast"]:
                    answers.append((self.cycle + self.latency, id, worst))
                    writes.popleft()
                    done = worst = 0
            if values.get("bvalid") and values["bready"]:
                answers.popleft()
                b_held = False

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
    """``(response, address noted)`` of so many commands, each in the cycle in which it is done; the address is 0
    where none was noted."""
    outcome, noted = dut.outcome, 0
    while count:
        if ctx.get(outcome.note):
            noted = ctx.get(outcome.address)
        if ctx.get(outcome.done):
            yield ctx.get(outcome.resp).value, noted
            noted = 0
            count -= 1
        await ctx.tick()
