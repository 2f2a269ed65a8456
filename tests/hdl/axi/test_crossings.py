"""Registers behind a crossing: every access is answered once, also when either side is reset. A memory port behind a
crossing, either side of which is reset: the engine gets an answer for all that it has begun, and the bus the end of
all that it has seen.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest

from cdma.hdl.axi.crossings import LiteCrossing, PortCrossing
from cdma.hdl.axi.ports import ReadPort, WritePort
from cdma.verif.proofs.bench import FreeClocks
from tests.support.simulate import simulate

OKAY, SLVERR = 0, 2
STEPS = 1600


class Bench:
    """A master that has one read and one write open, and registers that answer after a while."""

    def __init__(self, seed: int, resets: str) -> None:
        self.rng = random.Random(seed)
        self.clocks = FreeClocks("bus", "sync")
        self.dut = LiteCrossing(8, bus="bus")
        self.built = self.clocks.built(self.dut)
        self.resets = resets
        self.shares = [self.rng.choice((0.2, 0.5, 1.0)) for _ in range(2)]
        self.memory: dict[int, int] = {}
        self.writes: list[tuple[int, int, int]] = []
        self.answers = {"r": 0, "b": 0}
        self.errors = 0

    async def run(self, ctx: Any) -> None:
        rng, ticks = self.rng, self.clocks.ticks
        bus, registers = self.dut.bus_port, self.dut.registers
        asked: dict[str, Any] = {"aw": None, "w": None, "ar": None}
        expected: dict[str, int] = {}
        inside: dict[str, Any] = {"aw": None, "w": None, "ar": None}
        due = {"b": False, "r": False}
        left = dict.fromkeys(ticks, 8)
        for step in range(STEPS):
            now = {name: rng.random() < share for name, share in zip(ticks, self.shares, strict=True)}
            for name, tick in now.items():
                ctx.set(ticks[name], tick)
                if self.resets == name and rng.random() < 0.01:
                    left[name] = rng.randint(1, 3)
                ctx.set(self.clocks.resets[name], left[name] > 0)
            for late in self.clocks.late:
                ctx.set(late, rng.getrandbits(1) * -1)
            if left["bus"]:
                asked = dict.fromkeys(asked)
                expected = {}
            if left["sync"]:
                inside, due = dict.fromkeys(inside), {"b": False, "r": False}
            if "b" not in expected and not left["bus"] and step < STEPS - 600:
                address, data = rng.randrange(256), rng.getrandbits(32)
                asked["aw"], asked["w"], expected["b"] = address, data, address
            if "r" not in expected and not left["bus"] and step < STEPS - 600:
                asked["ar"] = expected["r"] = rng.randrange(256)
            for channel in asked:
                ctx.set(getattr(bus, f"{channel}valid"), asked[channel] is not None)
            ctx.set(bus.awaddr, asked["aw"] or 0)
            ctx.set(bus.wdata, asked["w"] or 0)
            ctx.set(bus.araddr, asked["ar"] or 0)
            takes = {channel: rng.random() < 0.7 for channel in ("r", "b", "aw", "w", "ar")}
            for channel in ("r", "b"):
                ctx.set(getattr(bus, f"{channel}ready"), takes[channel])
                ctx.set(getattr(registers, f"{channel}valid"), due[channel])
            for channel in inside:
                ctx.set(getattr(registers, f"{channel}ready"), inside[channel] is None and takes[channel])
            ctx.set(registers.rdata, (inside["ar"] or 0) * 0x01010101)
            if now["bus"]:
                left["bus"] -= left["bus"] > 0
                for channel in asked:
                    if asked[channel] is not None and ctx.get(getattr(bus, f"{channel}ready")):
                        asked[channel] = None
                for channel in ("r", "b"):
                    if takes[channel] and ctx.get(getattr(bus, f"{channel}valid")) and channel in expected:
                        self.answers[channel] += 1
                        resp = ctx.get(getattr(bus, f"{channel}resp")).value
                        assert resp == OKAY or self.resets == "sync", step
                        self.errors += resp == SLVERR
                        if channel == "r" and resp == OKAY:
                            assert ctx.get(bus.rdata) == expected["r"] * 0x01010101, step
                        del expected[channel]
            if now["sync"]:
                left["sync"] -= left["sync"] > 0
                for channel in ("r", "b"):
                    if due[channel] and ctx.get(getattr(registers, f"{channel}ready")):
                        due[channel] = False
                        for each in ("ar",) if channel == "r" else ("aw", "w"):
                            inside[each] = None
                for channel, pin in (("aw", "awaddr"), ("w", "wdata"), ("ar", "araddr")):
                    valid = ctx.get(getattr(registers, f"{channel}valid"))
                    if valid and inside[channel] is None and takes[channel]:
                        inside[channel] = ctx.get(getattr(registers, pin))
                due["b"] |= inside["aw"] is not None and inside["w"] is not None and rng.random() < 0.3
                due["r"] |= inside["ar"] is not None and rng.random() < 0.3
            await ctx.tick()
        assert not expected, f"{expected} is not answered"


@pytest.mark.parametrize("resets", ["none", "bus", "sync"])
def test_every_access_is_answered(resets: str) -> None:
    bench = Bench(len(resets), resets)
    simulate(bench.built, bench.run)
    assert min(bench.answers.values()) > 8
    assert (bench.errors > 0) == (resets == "sync")


PORT_CROSSING_STEPS = 2600
#: From here on nothing begins, and nothing is reset.
REST = PORT_CROSSING_STEPS - 800
IDS = (0, 1, 2)
MOST = 3


class PortCrossingBench:
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
        for step in range(PORT_CROSSING_STEPS):
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
    bench = PortCrossingBench(resets)
    simulate(bench.built, bench.run)
    assert min(bench.seen["r"], bench.seen["b"]) > 20
    assert (bench.seen["errors"] > 0) == (resets == "bus")
    assert (bench.seen["empty"] > 0) == (resets == "sync")
