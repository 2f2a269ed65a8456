"""Spreads literals to their lanes, and leaves 0 in the other lanes."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.parts.butterfly import pairs

__all__ = ["Expander"]


class Expander(wiring.Component):
    """The levels of the butterfly in the order that spreads words. Combinational.

    ``swap``, ``straight``
        Says for each level which pairs of lanes exchange their words, and the complement.
    ``literal``
        Says which lanes of the output have a literal.
    ``input``
        Words before the first level; their complements if :attr:`inverted`.
    ``output``
        Literals in their lanes, and 0 in the others.

    A selection by two signals of which one is set takes fewer gates if it may invert the word. So every level does, and
    the last one, which selects neither word where there is no literal, gives 0 there.
    """

    def __init__(self, word_bits: int, lanes: int) -> None:
        self.lanes = lanes
        self.levels = exact_log2(lanes)
        #: Whether the words at the input are complements, so that those at the output are not.
        self.inverted = bool(self.levels % 2)
        words = data.ArrayLayout(word_bits, lanes)
        settings = data.ArrayLayout(lanes // 2, self.levels)
        super().__init__(
            {
                "swap": In(settings),
                "straight": In(settings),
                "literal": In(lanes),
                "input": In(words),
                "output": Out(words),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = [Value.cast(self.input[lane]) for lane in range(self.lanes)]
        if not self.levels:
            m.d.comb += self.output[0].eq(Mux(self.literal, words[0], 0))
        for level in reversed(range(self.levels)):
            moved = Signal.like(self.output, name=f"after_{level}") if level else self.output
            for pair, low in enumerate(pairs(self.lanes, level)):
                straight, swap = self.straight[level][pair], self.swap[level][pair]
                high = low | 1 << level
                for lane, other in ((low, high), (high, low)):
                    if level:
                        word = ~(Mux(straight, words[lane], 0) | Mux(swap, words[other], 0))
                    else:
                        stays, comes = straight & self.literal[lane], swap & self.literal[lane]
                        word = ~(Mux(stays, words[lane], ~0) & Mux(comes, words[other], ~0))
                    m.d.comb += moved[lane].eq(word)
            words = [Value.cast(moved[lane]) for lane in range(self.lanes)]
        return m
