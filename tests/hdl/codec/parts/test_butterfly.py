"""The butterfly, exhaustively where that is possible."""

import itertools
import random
from typing import Any

import pytest
from amaranth.utils import exact_log2

from cdma.hdl.codec.parts.butterfly import pairs
from tests.support.butterfly_network import ButterflyNetwork
from tests.support.simulate import simulate


def cases(lanes: int) -> list[tuple[int, int]]:
    """Masks and offsets: all of them for up to 8 lanes, and a sample of more."""
    if lanes <= 8:
        return list(itertools.product(range(1 << lanes), range(lanes)))
    source = random.Random(lanes)
    sparse = [1 << lane for lane in range(lanes)] + [0, (1 << lanes) - 1]
    masks = sparse + [source.getrandbits(lanes) for _ in range(300)]
    return [(mask, source.randrange(lanes)) for mask in masks]


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
def test_literals_go_to_consecutive_lanes(lanes: int) -> None:
    dut = ButterflyNetwork(8, lanes)
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

    simulate(dut, check)


@pytest.mark.parametrize("from_offset", [False, True])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
def test_expanding_puts_them_back(lanes: int, from_offset: bool) -> None:
    dut = ButterflyNetwork(8, lanes, expand=True, from_offset=from_offset)

    async def check(ctx: Any) -> None:
        for mask, offset in cases(lanes):
            lanes_of_literals = [lane for lane in range(lanes) if mask >> lane & 1]
            packed = [0] * lanes
            for rank, lane in enumerate(lanes_of_literals):
                packed[(offset + rank) % lanes] = 100 + lane
            ctx.set(dut.input, packed)
            ctx.set(dut.literal, mask)
            ctx.set(dut.offset, offset)
            await ctx.delay(1e-9)
            got = [ctx.get(dut.output[lane]) for lane in lanes_of_literals]
            assert got == [100 + lane for lane in lanes_of_literals], (
                f"mask {mask:0{lanes}b}, offset {offset}"
            )

    simulate(dut, check)


def test_each_level_pairs_every_lane_once() -> None:
    for lanes in (2, 4, 8, 16):
        for level in range(exact_log2(lanes)):
            lower = pairs(lanes, level)
            assert sorted(lower + [lane | 1 << level for lane in lower]) == list(range(lanes))
