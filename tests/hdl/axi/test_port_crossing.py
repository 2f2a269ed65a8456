"""A memory port behind a crossing, either side of which is reset: the engine gets an answer for all that it has begun, and
the bus the end of all that it has seen.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest

from cdma.hdl.axi.crossings import PortCrossing
from cdma.hdl.axi.ports import ReadPort, WritePort
from cdma.verif.proofs.bench import FreeClocks
from tests.support.simulate import simulate

OKAY, SLVERR = 0, 2
STEPS = 2600
#: From here on nothing begins, and nothing is reset.
REST = STEPS - 800
IDS = (0, 1, 2)
MOST = 3


class Bench:
    """An engine that reads and writes bursts, and a memory that answers them, each in its clock domain."""

    def __init__(self, resets: str) -> None:
        self.rng = random.Random(resets)
        self.resets = resets
        self.clocks = FreeClocks("sync", "bus")
        self.dut = PortCrossing(ReadPort(8, 8, 2), WritePort(8, 8, 8, 2), IDS, MOST, bus="bus")
        self.built = self.clocks.built(self.dut)
        self.shares = [self.rng.choice((0.4, 1.0)) for _ in range(2)]
        self.left = {"sync": 8, "bus": 8}
        self.seen: dict[str, int] = {"r": 0, "b": 0, "errors": 0, "empty": 0}
        self.forget_engine()
        self.forget_bus()

    def forget_engine(self) -> None:
        self.address: dict[str, tuple[int, int, int] | None] = {"ar": None, "aw": None}
        self.reads: dict[int, deque[list[int]]] = {id: deque() for id in IDS}
        self.writes = dict.fromkeys(IDS, 0)
        self.data: deque[tuple[int, int]] = deque()

    def forget_bus(self) -> None:
        self.asked: deque[list[int]] = deque()
        self.begun: deque[list[int]] = deque()
        self.answers: deque[int] = deque()
        self.held: dict[str, Any] = {}

    async def run(self, ctx: Any) -> None:
        rng = self.rng
        for step in range(STEPS):
            now = {}
            for name, share in zip(self.left, self.shares, strict=True):
                now[name] = rng.random() < share
                ctx.set(self.clocks.ticks[name], now[name])
                if self.resets == name and step < REST and rng.random() < 0.008:
                    self.left[name] = rng.randint(1, 4)
                ctx.set(self.clocks.resets[name], self.left[name] > 0)
            for late in self.clocks.late:
                ctx.set(late, rng.getrandbits(len(late)))
            if self.left["sync"]:
                self.forget_engine()
            if self.left["bus"]:
                self.forget_bus()
            engine = self._drive_engine(ctx, step)
            bus = self._drive_bus(ctx)
            if now["sync"]:
                self._see_engine(ctx, engine)
                self.left["sync"] -= self.left["sync"] > 0
            if now["bus"]:
                if not self.left["bus"]:
                    self._see_bus(ctx, bus)
                self.left["bus"] -= self.left["bus"] > 0
            await ctx.tick()
        assert not any(self.reads.values()), "a read is not answered"
        assert not any(self.writes.values()), "a write is not answered"
        assert not self.asked, "the bus has not seen the end of a read"
        assert not self.begun, "the bus has not seen the end of a write"

    def _drive_engine(self, ctx: Any, step: int) -> dict[str, bool]:
        rng, read, write = self.rng, self.dut.read, self.dut.write
        for channel, port in (("ar", read.ar), ("aw", write.aw)):
            if self.address[channel] is None and not self.left["sync"] and step < REST and rng.random() < 0.3:
                id = rng.choice(IDS)
                open_now = len(self.reads[id]) if channel == "ar" else self.writes[id]
                if open_now < MOST:
                    self.address[channel] = id, rng.randrange(1, 6), rng.getrandbits(8)
            ctx.set(port.valid, self.address[channel] is not None)
            for name, value in zip(("id", "len", "address"), self.address[channel] or (0, 0, 0), strict=True):
                ctx.set(port.payload[name], value)
        data, last = self.data[0] if self.data else (0, 0)
        ctx.set(write.w.valid, bool(self.data))
        ctx.set(write.w.payload.data, data)
        ctx.set(write.w.payload.keep, 1)
        ctx.set(write.w.payload.last, last)
        takes = {"r": rng.random() < 0.7, "b": rng.random() < 0.7}
        ctx.set(read.r.ready, takes["r"])
        ctx.set(write.b.ready, takes["b"])
        return takes

    def _see_engine(self, ctx: Any, takes: dict[str, bool]) -> None:
        read, write = self.dut.read, self.dut.write
        if self.left["sync"]:
            return
        if self.data and ctx.get(write.w.ready):
            self.data.popleft()
        for channel, port in (("r", read.r), ("b", write.b)):
            if not (takes[channel] and ctx.get(port.valid)):
                continue
            id = ctx.get(port.payload.id)
            error = ctx.get(port.payload.resp).value == SLVERR
            assert not error or self.resets == "bus"
            self.seen["errors"] += error
            if channel == "b":
                assert self.writes[id] > 0
                self.writes[id] -= 1
                self.seen["b"] += 1
                continue
            beats = self.reads[id][0]
            if not error:
                assert ctx.get(port.payload.data) == beats[0]
            beats.pop(0)
            last = ctx.get(port.payload.last)
            assert error or last == (not beats)
            if last:
                self.reads[id].popleft()
                self.seen["r"] += 1
        for channel, port in (("ar", read.ar), ("aw", write.aw)):
            if self.address[channel] is not None and ctx.get(port.ready):
                id, length, address = self.address[channel] or (0, 0, 0)
                self.address[channel] = None
                if channel == "ar":
                    self.reads[id].append([(address + beat) & 255 for beat in range(length + 1)])
                else:
                    self.writes[id] += 1
                    self.data += [((address + beat) & 255, beat == length) for beat in range(length + 1)]

    def _drive_bus(self, ctx: Any) -> dict[str, bool]:
        rng, read, write = self.rng, self.dut.bus_read, self.dut.bus_write
        takes = {channel: rng.random() < 0.5 for channel in ("ar", "aw", "w")}
        ctx.set(read.ar.ready, takes["ar"])
        ctx.set(write.aw.ready, takes["aw"])
        ctx.set(write.w.ready, takes["w"])
        id, left, address = self.asked[0] if self.asked else (0, 0, 0)
        ctx.set(read.r.valid, bool(self.asked))
        ctx.set(read.r.payload.id, id)
        ctx.set(read.r.payload.data, address)
        ctx.set(read.r.payload.last, left == 0)
        ctx.set(write.b.valid, bool(self.answers))
        ctx.set(write.b.payload.id, self.answers[0] if self.answers else 0)
        return takes

    def _see_bus(self, ctx: Any, takes: dict[str, bool]) -> None:
        read, write = self.dut.bus_read, self.dut.bus_write
        if self.asked and ctx.get(read.r.ready):
            id, left, address = self.asked[0]
            self.asked[0] = [id, left - 1, (address + 1) & 255]
            if not left:
                self.asked.popleft()
        if self.answers and ctx.get(write.b.ready):
            self.answers.popleft()
        for name, port in (("ar", read.ar), ("aw", write.aw), ("w", write.w)):
            offered = repr(ctx.get(port.payload)) if ctx.get(port.valid) else None
            if self.held.get(name) is not None:
                assert offered == self.held[name], f"{name} does not stay"
            self.held[name] = None if takes[name] else offered
        if takes["w"] and ctx.get(write.w.valid):
            assert self.begun, "data come before their address"
            id, left, address = self.begun[0]
            assert ctx.get(write.w.payload.last) == (left == 0)
            if ctx.get(write.w.payload.keep):
                assert ctx.get(write.w.payload.data) == address, "a stray word is written"
            else:
                assert self.resets == "sync"
                self.seen["empty"] += 1
            self.begun[0] = [id, left - 1, (address + 1) & 255]
            if not left:
                self.answers.append(id)
                self.begun.popleft()
        for channel, port, queue in (("ar", read.ar, self.asked), ("aw", write.aw, self.begun)):
            if takes[channel] and ctx.get(port.valid):
                payload = port.payload
                queue.append([ctx.get(payload.id), ctx.get(payload.len), ctx.get(payload.address)])


@pytest.mark.parametrize("resets", ["none", "bus", "sync"])
def test_all_that_has_begun_ends(resets: str) -> None:
    bench = Bench(resets)
    simulate(bench.built, bench.run)
    assert min(bench.seen["r"], bench.seen["b"]) > 20
    assert (bench.seen["errors"] > 0) == (resets == "bus")
    assert (bench.seen["empty"] > 0) == (resets == "sync")
