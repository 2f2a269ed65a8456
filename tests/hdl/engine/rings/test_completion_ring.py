"""A ring of completions that is disabled or aborted with responses to come. The regression of engines has full rings, and
records on their way to memory.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Signal

from cdma.hdl.engine.rings.completion_ring import CompletionRing
from cdma.hdl.spec.engine import EngineConfig
from tests.support.rings import Indexed
from tests.support.simulate import simulate


def _ring(config: EngineConfig) -> tuple[Indexed, Signal]:
    """A ring, and log2 of its entries."""
    ring, size = CompletionRing(config), Signal(4)
    return Indexed(ring, config.index_bits, ring.commit, size), size


def test_a_disabled_ring_begins_anew_when_all_is_answered() -> None:
    dut, size = _ring(EngineConfig())

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.enable, 1)
        ctx.set(size, 4)
        for _ in range(3):
            await ctx.tick().until(dut.may_begin)
            ctx.set(dut.commit, 1)
            await ctx.tick()
            ctx.set(dut.commit, 0)
        ctx.set(dut.enable, 0)
        await ctx.tick()
        ctx.set(dut.enable, 1)
        for _ in range(3):
            await ctx.tick().repeat(4)
            assert not ctx.get(dut.may_begin), "responses of the old ring are still to come"
            assert ctx.get(dut.moved) == 3
            ctx.set(dut.answer, 1)
            await ctx.tick()
            ctx.set(dut.answer, 0)
        await ctx.tick().repeat(6)
        assert (ctx.get(dut.head), ctx.get(dut.moved)) == (0, 0)
        assert ctx.get(dut.may_begin)

    simulate(dut, testbench)


def test_an_abort_settles_with_the_last_response() -> None:
    """None is sent until then."""
    dut, size = _ring(EngineConfig())

    async def pulse(ctx: Any, *signals: Any) -> None:
        for signal in signals:
            ctx.set(signal, 1)
        await ctx.tick()
        for signal in signals:
            ctx.set(signal, 0)

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.enable, 1)
        ctx.set(size, 4)
        await ctx.tick().repeat(2)
        await pulse(ctx, dut.commit)
        assert not ctx.get(dut.settling), "nothing is aborted"
        ctx.set(dut.aborting, 1)
        await pulse(ctx, dut.commit)
        await pulse(ctx, dut.commit, dut.answer)
        ctx.set(dut.aborting, 0)
        await ctx.tick()
        for _ in range(2):
            for _ in range(6):
                assert ctx.get(dut.settling)
                assert not ctx.get(dut.may_begin)
                await ctx.tick()
            await pulse(ctx, dut.answer)
        assert not ctx.get(dut.settling)
        assert not ctx.get(dut.in_flight)
        await ctx.tick().repeat(6)
        assert ctx.get(dut.may_begin)

    simulate(dut, testbench)
