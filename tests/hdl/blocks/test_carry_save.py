"""Ones counted by full adders."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.blocks.carry_save import count_ones
from tests.support.simulate import simulate


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 8, 31, 32])
def test_counts(width: int) -> None:
    source = random.Random(width)
    m = Module()
    bits = Signal(width)
    count = Signal(8)
    found = count_ones(m, bits, "adder")
    assert len(found) == width.bit_length()
    m.d.comb += count.eq(found)

    async def testbench(ctx: Any) -> None:
        for value in [0, (1 << width) - 1, *(source.getrandbits(width) for _ in range(40))]:
            ctx.set(bits, value)
            assert ctx.get(count) == value.bit_count()

    simulate(m, testbench)
