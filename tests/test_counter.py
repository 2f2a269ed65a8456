"""The wide counter against an integer."""

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from cdma.hdl.counter import WideCounter


@pytest.mark.parametrize(("most", "width"), [(1, 12), (8, 16), (16, 14), (64, 20)])
@pytest.mark.parametrize("full", [True, False])
def test_counts_like_an_integer(most: int, width: int, full: bool) -> None:
    dut = WideCounter(most, width)
    source = random.Random(f"{most} {width} {full}")
    cycles = min(4000, 5 * (1 << width) // most) if full else 1500

    async def check(ctx: Any) -> None:
        value = 0
        for _ in range(cycles):
            clear = not full and source.random() < 0.002
            first, amount = source.randint(0, most), most if full else source.randint(0, most)
            ctx.set(dut.clear, clear)
            ctx.set(dut.first, first)
            ctx.set(dut.amount, amount)
            await ctx.tick()
            value = ((first if clear else value) + amount) % (1 << width)
            assert ctx.get(dut.value) == value

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(check)
    simulator.run()
