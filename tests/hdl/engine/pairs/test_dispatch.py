"""What a pair may start on the data path that all pairs share."""

from __future__ import annotations

from cdma.hdl.engine.pairs.dispatch import Dispatch
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.shares import PERIOD_BITS
from tests.support.simulate import simulate


def test_a_period_that_is_changed_holds_at_once() -> None:
    """A pair with a limit of one unit, which always has a descriptor of one, waits for the end of a period that is not over
    before the test; then software shortens it."""
    dut = Dispatch(EngineConfig(channels=2))
    long, short = (1 << PERIOD_BITS) - 1, 100

    async def testbench(ctx):
        async def starts(cycles: int) -> int:
            count = 0
            for _ in range(cycles):
                await ctx.tick()
                count += ctx.get(dut.pair_0.started)
            return count

        ctx.set(dut.shares.limit[0], 1)
        for signal in (dut.pair_0.requests.valid, dut.pair_0.may_start, dut.requests.ready, dut.done.valid):
            ctx.set(signal, 1)
        for period in (long, short):
            ctx.set(dut.shares.period, period)
            assert await starts(3 * short) == (1 if period == long else 3)
        ctx.set(dut.shares.period, long)
        assert await starts(3 * short) <= 1

    simulate(dut, testbench)
