"""Small functions of values."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from cdma.hdl.blocks.arithmetic import is_next


def test_the_next_number_is_known_without_a_carry() -> None:
    """For all pairs of numbers of four bits, among them the last one, after which the first comes."""
    m = Module()
    first, second, found = Signal(4), Signal(4), Signal()
    m.d.comb += found.eq(is_next(first, second))

    async def bench(ctx: Any) -> None:
        for a in range(16):
            for b in range(16):
                ctx.set(first, a)
                ctx.set(second, b)
                await ctx.delay(1e-9)
                assert ctx.get(found) == ((a + 1) % 16 == b), (a, b)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
