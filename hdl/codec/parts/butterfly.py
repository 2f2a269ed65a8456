"""The butterfly: one network that compacts and rotates words, and its mirror, which spreads them again.

Level ``k`` of the butterfly exchanges the words of lanes ``p`` and ``p ^ 2**k``, or leaves them where they are. To
**concentrate**, each literal is routed, least significant bit first, to lane ``(offset + rank) % lanes``, where its rank
is the number of literals in lower lanes. Such destinations are monotone and cyclically contiguous, and those never
block. Two literals that met after level ``k`` would come from the same block of ``2**(k+1)`` lanes. Their ranks, and so
their destinations, would differ by less than ``2**(k+1)``, that is, in a bit that is routed already; but then they could
not meet. To **expand**, which is the opposite, the words pass through the same exchanges in the opposite order of levels.
"""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import one_of, popcount

__all__ = ["Exchange", "Ranking", "Ranks", "Routes", "pairs"]


class Exchange(wiring.Component):
    """One level of the network: pairs of lanes whose numbers differ in one bit exchange their words, or keep them.

    Combinational.

    ``swap``
        Says for each pair, in the order of the lower lanes, whether it exchanges its words.
    ``straight``
        Complement of ``swap``. Where the two come from registers of their own, the selection of the words needs fewer
        gates, and saves more than the registers cost.
    ``input``, ``output``
        Words of all lanes, before and after the level.
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
    """The lower lanes of the pairs that ``level`` exchanges."""
    return [lane for lane in range(lanes) if not lane >> level & 1]


class Ranks(data.StructLayout):
    """How many literals a beat has.

    ``count``
        Number of literals in all lanes.
    ``below``
        Number of literals below each lane but lane 0, modulo the size of the largest block of lanes that has this lane
        in its middle. Routes need no more of it.
    """

    def __init__(self, lanes: int) -> None:
        # Entries with names of their own become wires of their own: counts of many literals are made of counts of few,
        # and in one vector that looks like a loop to Verilator.
        below = {f"lane_{lane}": (lane & -lane).bit_length() for lane in range(1, lanes)}
        super().__init__({"count": range(lanes + 1), "below": data.StructLayout(below)})


class Ranking(wiring.Component):
    """Counts the literals of a beat. Combinational.

    ``literal``
        Says for each lane whether it has a literal.
    ``ranks``
        The counts.

    ``inputs`` is that of :func:`~cdma.hdl.blocks.gates.popcount`.

    With ``from_offset`` there is the port ``offset``, and the counts below lanes begin with it. Then each of them follows
    from another one, which takes fewer gates than to count for each lane and to add afterwards. It takes longer from
    ``literal``, and is of use where both are there early.
    """

    def __init__(self, lanes: int, inputs: int = 2, *, from_offset: bool = False) -> None:
        self.lanes = lanes
        self.inputs = inputs
        self.from_offset = from_offset
        offset = {"offset": In(exact_log2(lanes))} if from_offset else {}
        super().__init__({"literal": In(lanes), **offset, "ranks": Out(Ranks(lanes))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.ranks.count.eq(popcount(self.literal, self.inputs))
        if not self.from_offset:
            for lane in range(1, self.lanes):
                m.d.comb += self.ranks.below[f"lane_{lane}"].eq(popcount(self.literal[:lane], self.inputs))
            return m
        below: dict[int, Value] = {0: self.offset}
        for lane in range(1, self.lanes):
            # The lanes since one that has its count modulo a larger number.
            size = lane & -lane
            counted = popcount(self.literal[lane - size : lane], self.inputs)
            below[lane] = self.ranks.below[f"lane_{lane}"]
            m.d.comb += below[lane].eq(below[lane - size] + counted)
        return m


class Routes(wiring.Component):
    """Finds the exchanges that route the literals of a beat to consecutive lanes. Combinational.

    ``ranks``
        Counts of the literals.
    ``offset``
        Lane of the first literal after routing. With ``from_offset`` there is no such port: the counts have it.
    ``swap``
        Says for each level which pairs exchange their words.

    From the last level back to the first, each level splits blocks of lanes into halves. The literals that come from the
    upper half of a block go to consecutive lanes, the first of which is ``boundary = offset + literals below the middle
    of the block``. So lane ``j`` of the lower half receives a word from the upper half exactly if ``boundary``, modulo
    the size of the block, is at ``j`` or below in the lower half, or above the partner of ``j`` in the upper half. Each
    count of :class:`Ranks` is needed for one block only.
    """

    def __init__(self, lanes: int, *, from_offset: bool = False) -> None:
        self.lanes = lanes
        self.from_offset = from_offset
        self.levels = exact_log2(lanes)
        super().__init__(
            {
                "ranks": In(Ranks(lanes)),
                **({} if from_offset else {"offset": In(self.levels)}),
                "swap": Out(data.ArrayLayout(lanes // 2, self.levels)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for level in range(self.levels):
            half = 1 << level
            for pair, low in enumerate(pairs(self.lanes, level)):
                position = low % half
                middle = low - position + half
                if not position:
                    boundary = Signal(level + 1, name=f"boundary_{middle}")
                    below = self.ranks.below[f"lane_{middle}"]
                    m.d.comb += boundary.eq(below if self.from_offset else self.offset + below)
                m.d.comb += self.swap[level][pair].eq(~(boundary[level] ^ (position < boundary[:level])))
        return m
