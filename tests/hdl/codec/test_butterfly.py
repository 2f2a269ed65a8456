"""The butterfly, exhaustively where that is possible."""

import itertools
import random
from typing import Any

import pytest
from amaranth.hdl import Elaboratable
from amaranth.sim import Simulator
from amaranth.utils import exact_log2

from cdma.hdl.codec.parts.butterfly import Concentrator, Expander, pairs


def combinational(dut: Elaboratable, check: Any) -> None:
    simulator = Simulator(dut)
    simulator.add_testbench(check)
    simulator.run()


def cases(lanes: int) -> list[tuple[int, int]]:
    """Masks and offsets: all of them for up to 8 lanes, and a sample of more."""
    if lanes <= 8:
        return list(itertools.product(range(1 << lanes), range(lanes)))
    source = random.Random(lanes)
    sparse = [1 << lane for lane in range(lanes)] + [0, (1 << lanes) - 1]
    masks = sparse + [source.getrandbits(lanes) for _ in range(300)]
    return [(mask, source.randrange(lanes)) for mask in masks]


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
def test_concentrator_moves_literals_to_consecutive_lanes(lanes: int) -> None:
    dut = Concentrator(8, lanes)
    words = [100 + lane for lane in range(lanes)]

    async def check(ctx: Any) -> None:
        ctx.set(dut.input, words)
        for mask, offset in cases(lanes):
            ctx.set(dut.literal, mask)
            ctx.set(dut.offset, offset)
            await ctx.delay(1e-9)
            literals = [word for lane, word in enumerate(words) if mask >> lane & 1]
            assert ctx.get(dut.count) == len(literals)
            got = [ctx.get(dut.output[(offset + rank) % lanes]) for rank in range(len(literals))]
            assert got == literals, f"mask {mask:0{lanes}b}, offset {offset}"

    combinational(dut, check)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
def test_expander_undoes_the_concentrator(lanes: int) -> None:
    dut = Expander(8, lanes)

    async def check(ctx: Any) -> None:
        for mask, offset in cases(lanes):
            places = [lane for lane in range(lanes) if mask >> lane & 1]
            packed = [0] * lanes
            for rank, lane in enumerate(places):
                packed[(offset + rank) % lanes] = 100 + lane
            ctx.set(dut.input, packed)
            ctx.set(dut.literal, mask)
            ctx.set(dut.offset, offset)
            await ctx.delay(1e-9)
            got = [ctx.get(dut.output[lane]) for lane in places]
            assert got == [100 + lane for lane in places], f"mask {mask:0{lanes}b}, offset {offset}"

    combinational(dut, check)


def test_each_level_pairs_every_lane_once() -> None:
    for lanes in (2, 4, 8, 16):
        for level in range(exact_log2(lanes)):
            lower = pairs(lanes, level)
            assert sorted(lower + [lane | 1 << level for lane in lower]) == list(range(lanes))
