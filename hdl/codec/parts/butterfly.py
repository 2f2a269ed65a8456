"""The butterfly: one network that compacts and rotates words, and its mirror, which spreads them again.

Level ``k`` of the butterfly exchanges the words of lanes ``p`` and ``p ^ 2**k``, or leaves them where they are. To
**concentrate**, each literal is routed, least significant bit first, to lane ``(offset + rank) % lanes``, where its rank
is the number of literals in lower lanes. Such destinations are monotone and cyclically contiguous, and those never
block: two literals that meet after level ``k`` would come from the same block of ``2**(k+1)`` lanes, so that their ranks
differ by less than ``2**(k+1)``, and so would their destinations, in bits that are routed already. Both orders use the
same exchanges, so **expanding** is the same levels in the opposite order.
"""

from collections.abc import Sequence

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import one_of, popcount

__all__ = [
    "Concentrator",
    "Exchange",
    "Expander",
    "Ranking",
    "Ranks",
    "Routes",
    "pairs",
]


class Exchange(wiring.Component):
    """One level of the network: pairs of lanes that differ in one bit exchange their words, or do not.

    Combinational. ``swap`` has one bit per pair, in the order of the pair's lower lane, and ``straight`` its complement:
    from registers of their own, the two cost less than the cheaper selection that they allow saves.
    """

    def __init__(self, shape: int, lanes: int, level: int) -> None:
        self.lanes = lanes
        self.level = level
        super().__init__(
            {
                "swap": In(lanes // 2),
                "straight": In(lanes // 2),
                "input": In(data.ArrayLayout(shape, lanes)),
                "output": Out(data.ArrayLayout(shape, lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for pair, low in enumerate(pairs(self.lanes, self.level)):
            high = low | 1 << self.level
            for lane, other in ((low, high), (high, low)):
                cases = ((self.straight[pair], self.input[lane]), (self.swap[pair], self.input[other]))
                m.d.comb += self.output[lane].eq(one_of(*cases))
        return m


def pairs(lanes: int, level: int) -> list[int]:
    """The lower lanes of the pairs which level ``level`` exchanges."""
    return [lane for lane in range(lanes) if not lane >> level & 1]


class Ranks(data.StructLayout):
    """How many literals a beat has: ``count`` in all, and ``below[lane]`` below each lane but lane 0.

    The latter as far as a route needs it: modulo the size of the largest block of lanes whose middle the lane is.
    """

    def __init__(self, lanes: int) -> None:
        below = {str(lane): (lane & -lane).bit_length() for lane in range(1, lanes)}
        super().__init__({"count": range(lanes + 1), "below": data.StructLayout(below)})


class Ranking(wiring.Component):
    """Counts the literals of a beat; combinational. ``inputs`` is that of :func:`popcount`."""

    def __init__(self, lanes: int, inputs: int = 2) -> None:
        self.lanes = lanes
        self.inputs = inputs
        super().__init__({"literal": In(lanes), "ranks": Out(Ranks(lanes))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.ranks.count.eq(popcount(self.literal, self.inputs))
        for lane in range(1, self.lanes):
            m.d.comb += self.ranks.below[str(lane)].eq(popcount(self.literal[:lane], self.inputs))
        return m


class Routes(wiring.Component):
    """Finds the exchanges that take the literals of a beat to consecutive lanes from ``offset`` on.

    Combinational. ``swap`` has one field per level.

    Seen from the last level back, each level splits a block of lanes in halves, and the literals of a block that come
    from its upper half go to consecutive lanes from ``boundary = offset + literals below the block's middle`` on. Lane
    ``j`` of the lower half must so hold what comes from the upper half exactly if ``boundary`` has reached the block's
    lower half, at ``j`` or before. No more than the counts of literals below each lane is needed, each at one place.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.levels = exact_log2(lanes)
        super().__init__(
            {
                "ranks": In(Ranks(lanes)),
                "offset": In(self.levels),
                "swap": Out(data.ArrayLayout(lanes // 2, self.levels)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for level in range(self.levels):
            half = 1 << level
            for pair, low in enumerate(pairs(self.lanes, level)):
                place = low % half
                middle = low - place + half
                if not place:
                    boundary = Signal(level + 1, name=f"boundary_{middle}")
                    m.d.comb += boundary.eq(self.offset + self.ranks.below[str(middle)])
                m.d.comb += self.swap[level][pair].eq(~(boundary[level] ^ (place < boundary[:level])))
        return m


class _Network(wiring.Component):
    """All levels in a row, in the order of ``levels``, with the routes found for the given literals."""

    def __init__(self, word_bits: int, lanes: int, levels: Sequence[int]) -> None:
        self.word_bits = word_bits
        self.lanes = lanes
        self.order = levels
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
        m.submodules.ranking = ranking = Ranking(self.lanes)
        m.submodules.routes = routes = Routes(self.lanes)
        m.d.comb += [
            ranking.literal.eq(self.literal),
            routes.ranks.eq(ranking.ranks),
            routes.offset.eq(self.offset),
            self.count.eq(ranking.ranks.count),
        ]
        words: Value = self.input
        for level in self.order:
            exchange = Exchange(self.word_bits, self.lanes, level)
            m.submodules[f"exchange_{level}"] = exchange
            m.d.comb += [
                exchange.swap.eq(routes.swap[level]),
                exchange.straight.eq(~routes.swap[level]),
                exchange.input.eq(words),
            ]
            words = exchange.output
        m.d.comb += self.output.eq(words)
        return m


class Concentrator(_Network):
    """Moves the literals of a beat, in order, to consecutive lanes from ``offset`` on, cyclically.

    Combinational. Lanes that receive no literal hold words of no meaning.
    """

    def __init__(self, word_bits: int, lanes: int) -> None:
        super().__init__(word_bits, lanes, range(exact_log2(lanes)))


class Expander(_Network):
    """Moves words from consecutive lanes from ``offset`` on, cyclically, to the lanes that ``literal`` marks.

    Combinational; undoes a :class:`Concentrator` with the same ``literal`` and ``offset``.
    """

    def __init__(self, word_bits: int, lanes: int) -> None:
        super().__init__(word_bits, lanes, range(exact_log2(lanes) - 1, -1, -1))
