"""The watchdog's time: never too early, and late by no more than it says."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module

from cdma.hdl.axi.watchdog import Timebase, Watchdog
from tests.support.simulate import simulate


class _Bench:
    def __init__(self) -> None:
        self.timebase, self.watchdog = Timebase(), Watchdog()
        self.module = m = Module()
        m.submodules.timebase, m.submodules.watchdog = self.timebase, self.watchdog
        m.d.comb += self.watchdog.tick.eq(self.timebase.tick)

    async def wait(self, ctx: Any, limit: int) -> int | None:
        """Cycles of waiting until it has fired, if it has within ``limit``."""
        ctx.set(self.watchdog.waiting, 1)
        for cycle in range(limit):
            if ctx.get(self.watchdog.fired):
                return cycle
            await ctx.tick()
        return None


@pytest.mark.parametrize("cycles", [1, 7, 8, 100, 200, 1000])
def test_fires_in_time(cycles: int) -> None:
    """Whenever the silence begins, with a transfer before it or without."""
    bench = _Bench()
    rng = random.Random(cycles)

    async def drive(ctx: Any) -> None:
        ctx.set(bench.timebase.watchdog_cycles, cycles)
        for attempt in range(12):
            ctx.set(bench.watchdog.waiting, attempt & 1)
            ctx.set(bench.watchdog.progress, 1)
            await ctx.tick().repeat(rng.randrange(1, 2 + cycles // 4))
            ctx.set(bench.watchdog.progress, 0)
            elapsed = await bench.wait(ctx, 3 * cycles + 30)
            assert elapsed is not None
            assert cycles <= elapsed <= cycles * 9 / 8 + 10
            await ctx.tick().repeat(5)
            assert ctx.get(bench.watchdog.fired)

    simulate(bench.module, drive)


def test_a_transfer_in_time_keeps_it_quiet() -> None:
    bench = _Bench()

    async def drive(ctx: Any) -> None:
        ctx.set(bench.timebase.watchdog_cycles, 100)
        ctx.set(bench.watchdog.waiting, 1)
        for _ in range(10):
            await ctx.tick().repeat(99)
            assert not ctx.get(bench.watchdog.fired)
            ctx.set(bench.watchdog.progress, 1)
            await ctx.tick()
            ctx.set(bench.watchdog.progress, 0)

    simulate(bench.module, drive)


def test_never_without_a_time_and_at_once_with_a_shorter_one() -> None:
    bench = _Bench()

    async def drive(ctx: Any) -> None:
        assert await bench.wait(ctx, 500) is None
        ctx.set(bench.timebase.watchdog_cycles, 1 << 31)
        assert await bench.wait(ctx, 500) is None
        ctx.set(bench.timebase.watchdog_cycles, 64)
        assert (await bench.wait(ctx, 500) or 500) <= 64 * 9 / 8 + 10

    simulate(bench.module, drive)


def test_now_counts() -> None:
    bench = _Bench()

    async def drive(ctx: Any) -> None:
        for cycle in range(300):
            assert ctx.get(bench.timebase.now) == cycle
            await ctx.tick()

    simulate(bench.module, drive)
