"""The expander: words go to the lanes of the literals, and the other lanes are 0."""

import random
from typing import Any

import pytest
from amaranth.hdl import Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.parts.butterfly import Ranking, Routes
from cdma.hdl.codec.plain.expander import Expander
from tests.support.simulate import simulate


class Network(wiring.Component):
    """An expander with the settings for ``literal`` and ``offset``."""

    def __init__(self, word_bits: int, lanes: int) -> None:
        self.lanes = lanes
        self.expander = Expander(word_bits, lanes)
        words = data.ArrayLayout(word_bits, lanes)
        super().__init__(
            {"literal": In(lanes), "offset": In(exact_log2(lanes)), "input": In(words), "output": Out(words)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.ranking = ranking = Ranking(self.lanes)
        m.submodules.routes = routes = Routes(self.lanes)
        m.submodules.expander = expander = self.expander
        words = Value.cast(self.input)
        m.d.comb += [
            ranking.literal.eq(self.literal),
            routes.ranks.eq(ranking.ranks),
            routes.offset.eq(self.offset),
            expander.swap.eq(routes.swap),
            expander.straight.eq(~Value.cast(routes.swap)),
            expander.literal.eq(self.literal),
            expander.input.eq(~words if expander.inverted else words),
            self.output.eq(expander.output),
        ]
        return m


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
def test_literals_go_to_their_lanes(lanes: int) -> None:
    dut = Network(8, lanes)
    words = [100 + lane for lane in range(lanes)]
    source = random.Random(lanes)

    async def check(ctx: Any) -> None:
        ctx.set(dut.input, words)
        for _ in range(500):
            mask, offset = source.getrandbits(lanes), source.randrange(lanes)
            ctx.set(dut.literal, mask)
            ctx.set(dut.offset, offset)
            await ctx.delay(1e-9)
            rank = 0
            for lane in range(lanes):
                literal = mask >> lane & 1
                assert ctx.get(dut.output[lane]) == (words[(offset + rank) % lanes] if literal else 0)
                rank += literal

    simulate(dut, check)
