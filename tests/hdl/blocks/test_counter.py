"""The wide counter against an integer."""

import random
from typing import Any

import pytest

from cdma.hdl.blocks.counter import WideCounter
from tests.support.simulate import simulate


@pytest.mark.parametrize(("most", "width"), [(1, 12), (16, 14), (64, 20)])
@pytest.mark.parametrize(("full", "clears"), [(True, 0), (False, 0.02)])
@pytest.mark.parametrize("pipelined", [False, True], ids=["plain", "pipelined"])
def test_counts_like_an_integer(most: int, width: int, full: bool, clears: float, pipelined: bool) -> None:
    """With ``full``, the largest amount is always added, so that the lowest part overflows as often as it can."""
    dut = WideCounter(most, width, pipelined=pipelined)
    source = random.Random(f"{most} {width} {full} {clears}")
    cycles = 1500 if clears else min(4000, 5 * (1 << width) // most)

    async def check(ctx: Any) -> None:
        value = 0
        for _ in range(cycles):
            clear = source.random() < clears
            first, amount = (most if full else source.randint(0, most) for _ in range(2))
            ctx.set(dut.clear, clear)
            ctx.set(dut.first, first)
            ctx.set(dut.amount, amount)
            await ctx.tick()
            value = ((first if clear else value) + amount) % (1 << width)
            assert ctx.get(dut.value) == value

    simulate(dut, check)
