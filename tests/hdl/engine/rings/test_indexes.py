"""Indexes of several rings: steps, doorbells and restarts at any time, against a model."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from cdma.hdl.engine.rings.indexes import RINGS, RingIndexes
from cdma.hdl.spec.engine import EngineConfig
from tests.support.collisions import CollidingMemory
from tests.support.simulate import simulate

CONFIG = EngineConfig(channels=2, ring_entries=8, descriptors=4)
COUNT = 8
MODULUS = 16
#: Cycles in which all rings are looked at.
ALL = 8 * COUNT


class _Ring:
    """What a ring should have. Size and tail survive a restart."""

    def __init__(self) -> None:
        self.index = self.behind = self.tail = 0
        self.log2 = 3
        self.enabled = True

    @property
    def head(self) -> int:
        return (self.index - self.behind) % MODULUS

    def more(self, completions: bool) -> bool:
        ahead = (self.index - self.tail) % MODULUS
        return self.enabled and (ahead < 1 << self.log2 if completions else ahead != 0)


class _Bench:
    def __init__(self, seed: int, *, pipelined: bool = False) -> None:
        self.dut = RingIndexes(replace(CONFIG, pipelined=pipelined))
        self.rng = random.Random(seed)
        self.rings = [_Ring() for _ in range(COUNT)]
        self.ports = [getattr(self.dut, f"ring_{number}") for number in range(COUNT)]
        #: The heads as software reads them.
        self.heads: dict[int, int] = dict.fromkeys(range(COUNT), 0)
        self.words = {
            (direction, what): self.dut.registers.word(f"{name}.{what}")
            for direction, name in enumerate(("offload", "prefetch"))
            for what in ("ring_head", "completion_head", "ring_tail", "completion_tail", "ring_size")
        }

    async def hears(self, ctx: Any) -> None:
        """The memory of registers, which is busy now and then."""
        report = self.dut.report
        places = {
            (self.words[direction, f"{kind}_head"], pair): 4 * pair + 2 * direction + number
            for pair in range(2)
            for direction in range(2)
            for number, kind in enumerate(RINGS)
        }
        restarting = [False] * COUNT
        while True:
            before = restarting
            restarting = [bool(ctx.get(port.restarts)) for port in self.ports]
            ready = self.rng.random() < 0.7
            ctx.set(report.ready, ready)
            if ready and ctx.get(report.valid):
                payload = report.payload
                place = places[ctx.get(payload.index), ctx.get(payload.pair)]
                self.heads[place] = ctx.get(payload.data)
                # After a soft reset the register has its reset value already; if pipelined, two cycles after.
                late = before[place] or not self.dut.config.pipelined
                assert not (restarting[place] and late) or not self.heads[place]
            await ctx.tick()

    async def change(self, ctx: Any, number: int, what: str, value: int) -> None:
        index = self.words[number >> 1 & 1, what]
        ctx.set(self.dut.changes, {"index": index, "pair": number >> 2, "data": value, "enable": 0xF})
        await ctx.tick()
        ctx.set(self.dut.changes, {"index": 0, "pair": 0, "data": 0, "enable": 0})

    def show(self, ctx: Any) -> None:
        for port, ring in zip(self.ports, self.rings, strict=True):
            ctx.set(port.behind, ring.behind)
            ctx.set(port.restarts, not ring.enabled)

    async def act(self, ctx: Any, number: int) -> None:
        """One event of a ring, as its owner or software may have it."""
        ring, port = self.rings[number], self.ports[number]
        match self.rng.randrange(5):
            case 0:
                ring.tail = self.rng.randrange(MODULUS)
                await self.change(ctx, number, f"{RINGS[number % 2]}_tail", ring.tail)
            case 1 if ring.enabled and ctx.get(port.more) and ring.behind < 4:
                ctx.set(self.dut.step, 1)
                ctx.set(self.dut.shown, number)
                await ctx.tick()
                ctx.set(self.dut.step, 0)
                ring.index = (ring.index + 1) % MODULUS
                ring.behind += 1
                self.show(ctx)
                assert not ctx.get(port.more)
                assert ctx.get(self.dut.moving)
                await ctx.tick().until(~self.dut.moving)
                await ctx.tick()
                assert ctx.get(self.dut.index) == ring.index
            case 2 if ring.behind:
                ctx.set(port.moved, 1)
                await ctx.tick()
                ctx.set(port.moved, 0)
                ring.behind -= 1
                self.show(ctx)
            case 3 if not ring.behind:
                ring.enabled = False
                self.show(ctx)
                await ctx.tick()
                assert not ctx.get(port.more)
                await ctx.tick().repeat(self.rng.randrange(2, 6))
                while ctx.get(self.dut.settles):
                    await ctx.tick()
                ring.enabled, ring.index = True, 0
                self.show(ctx)
            case 4 if ring.behind:
                # The owner waits until software can read the head.
                ring.behind -= 1
                self.show(ctx)
                ctx.set(self.dut.asks, 1)
                ctx.set(self.dut.asked, number)
                await ctx.tick().until(self.dut.told)
                ctx.set(self.dut.asks, 0)
                await ctx.tick()
                assert self.heads[number] == ring.head

    async def settle(self, ctx: Any) -> None:
        await ctx.tick().repeat(ALL)
        for number, (port, ring) in enumerate(zip(self.ports, self.rings, strict=True)):
            assert self.heads[number] == ring.head, number
            assert ctx.get(port.more) == ring.more(number % 2 == 1), number
            assert ctx.get(port.waits) == (ring.head != ring.tail), number


@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_indexes_heads_and_what_there_is_to_do(seed: int, pipelined: bool) -> None:
    bench = _Bench(seed, pipelined=pipelined)

    async def testbench(ctx: Any) -> None:
        for ring in bench.rings:
            ring.enabled = False
        bench.show(ctx)
        for number in range(0, COUNT, 2):
            log2 = bench.rng.randrange(4)
            bench.rings[number + 1].log2 = log2
            await bench.change(ctx, number, "ring_size", log2)
        for ring in bench.rings:
            ring.enabled = True
        bench.show(ctx)
        for _ in range(40):
            for _ in range(bench.rng.randrange(1, 12)):
                await bench.act(ctx, bench.rng.randrange(COUNT))
                for _ in range(bench.rng.choice((0, 0, 1, 3))):
                    await ctx.tick()
            await bench.settle(ctx)

    simulate(bench.dut, testbench, background=bench.hears)


def test_a_doorbell_waits_at_once() -> None:
    """No cycle passes in which a ring with descriptors seems to have none."""
    bench = _Bench(0)

    async def testbench(ctx: Any) -> None:
        bench.show(ctx)
        await ctx.tick().repeat(ALL)
        for number in range(0, COUNT, 2):
            await bench.change(ctx, number, "ring_tail", 3)
            for _ in range(ALL):
                assert ctx.get(bench.ports[number].waits)
                await ctx.tick()

    simulate(bench.dut, testbench, background=bench.hears)


def test_a_doorbell_is_seen_within_some_cycles() -> None:
    bench = _Bench(0)

    async def testbench(ctx: Any) -> None:
        bench.show(ctx)
        await ctx.tick().repeat(ALL)
        await bench.change(ctx, 6, "ring_tail", 3)
        await ctx.tick().repeat(6)
        assert ctx.get(bench.ports[6].more)

    simulate(bench.dut, testbench, background=bench.hears)


def test_a_tail_that_is_read_while_it_is_written_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Software writes the tail of an empty ring anew, as it is."""
    monkeypatch.setattr("cdma.hdl.engine.rings.indexes.Memory", CollidingMemory)
    bench = _Bench(0)

    async def testbench(ctx: Any) -> None:
        bench.show(ctx)
        await ctx.tick().repeat(ALL)
        for apart in range(8):
            for _ in range(30):
                await bench.change(ctx, 4, "ring_tail", 0)
                for _ in range(apart):
                    assert not ctx.get(bench.ports[4].more)
                    await ctx.tick()

    simulate(bench.dut, testbench, background=bench.hears)
