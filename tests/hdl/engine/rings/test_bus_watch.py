"""The watch over a ring's transfers: one pulse, and an error that stays until it is logged."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal

from cdma.hdl.engine.rings.bus_watch import BusWatch
from tests.support.simulate import simulate


def test_fires_once_and_is_lost_until_logged() -> None:
    watch = BusWatch("ring")
    waiting, progress, logged = Signal(), Signal(), Signal()
    m = Module()
    watch.watch(m, Signal(init=1), waiting, progress)
    watch.forget(m, logged)
    fired: list[int] = []

    async def drive(ctx: Any) -> None:
        ctx.set(waiting, 1)
        for cycle in range(40):
            if ctx.get(watch.fires):
                fired.append(cycle)
            await ctx.tick()
        assert len(fired) == 1
        assert (ctx.get(watch.stuck), ctx.get(watch.lost)) == (1, 1)
        ctx.set(logged, 1)
        await ctx.tick()
        ctx.set(logged, 0)
        assert (ctx.get(watch.stuck), ctx.get(watch.lost)) == (1, 0)
        ctx.set(progress, 1)
        await ctx.tick().repeat(2)
        assert (ctx.get(watch.stuck), ctx.get(watch.lost)) == (0, 0)

    simulate(m, drive)
