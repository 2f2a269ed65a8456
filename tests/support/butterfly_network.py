"""All levels of a butterfly in a row, which the blocks of a codec have between registers."""

from __future__ import annotations

from amaranth.hdl import Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.parts.butterfly import Exchange, Ranking, Routes

__all__ = ["ButterflyNetwork"]


class ButterflyNetwork(wiring.Component):
    """Routes the literals of a beat to consecutive lanes from ``offset`` on, or back if it is to ``expand``.

    The counts begin ``from_offset``, or it is added to them.
    """

    def __init__(
        self, word_bits: int, lanes: int, *, expand: bool = False, from_offset: bool = False
    ) -> None:
        self.word_bits = word_bits
        self.lanes = lanes
        self.expand = expand
        self.from_offset = from_offset
        super().__init__(
            {
                "literal": In(lanes),
                "offset": In(exact_log2(lanes)),
                "count": Out(range(lanes + 1)),
                "input": In(data.ArrayLayout(word_bits, lanes)),
                "output": Out(data.ArrayLayout(word_bits, lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.ranking = ranking = Ranking(self.lanes, from_offset=self.from_offset)
        m.submodules.routes = routes = Routes(self.lanes, from_offset=self.from_offset)
        m.d.comb += [
            ranking.literal.eq(self.literal),
            routes.ranks.eq(ranking.ranks),
            (ranking if self.from_offset else routes).offset.eq(self.offset),
            self.count.eq(ranking.ranks.count),
        ]
        words: Value = self.input
        levels = range(routes.levels)
        for level in reversed(levels) if self.expand else levels:
            m.submodules[f"exchange_{level}"] = exchange = Exchange(self.word_bits, self.lanes, level)
            m.d.comb += [
                exchange.swap.eq(routes.swap[level]),
                exchange.straight.eq(~routes.swap[level]),
                exchange.input.eq(words),
            ]
            words = exchange.output
        m.d.comb += self.output.eq(words)
        return m
