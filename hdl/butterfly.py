"""The butterfly: one network that compacts and rotates words, and its mirror, which spreads them again.

Level ``k`` of the butterfly exchanges the words of lanes ``p`` and ``p ^ 2**k``, or leaves them where they are. To
**concentrate**, each literal is routed, least significant bit first, to lane ``(offset + rank) % lanes``, where its rank
is the number of literals in lower lanes. Such destinations are monotone and cyclically contiguous, and those never
block: two literals that meet after level ``k`` would come from the same block of ``2**(k+1)`` lanes, so that their ranks
differ by less than ``2**(k+1)``, and so would their destinations, in bits that are routed already. Both orders use the
same exchanges, so **expanding** is the same levels in the opposite order.
"""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = [
    "Concentrator",
    "Exchange",
    "Expander",
    "Ranking",
    "Ranks",
    "Routes",
    "log2",
    "one_of",
    "pairs",
    "popcount",
    "rotate_up",
    "thermometer",
]


def log2(power: int) -> int:
    """The logarithm of a power of two."""
    return power.bit_length() - 1


def thermometer(value: Value, size: int) -> Value:
    """``size`` bits of which the lowest ``value`` are set."""
    return Cat(value > position for position in range(size))


def one_of(*cases: tuple[Value, Value]) -> Value:
    """The value whose condition holds; no two may hold at once, and where none does the result is 0.

    An AND-OR selection: cheaper in gates than a chain of multiplexers, whose order says nothing here.
    """
    terms: list[Value] = [Mux(condition, value, 0) for condition, value in cases]
    # A tree, because Amaranth walks expressions whole to find their shape, which takes long for a chain of hundreds.
    while len(terms) > 1:
        terms = [
            *(low | high for low, high in zip(terms[::2], terms[1::2], strict=False)),
            *terms[len(terms) & ~1 :],
        ]
    return terms[0]


def rotate_up(words: list[Value], amount: Value) -> list[Value]:
    """Words moved to lanes ``amount`` higher, cyclically; the number of words is a power of two."""
    for level in range(log2(len(words))):
        step = 1 << level
        words = [Mux(amount[level], words[lane - step], words[lane]) for lane in range(len(words))]
    return words


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
        self.levels = log2(lanes)
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


def popcount(bits: Value, inputs: int = 2) -> Value:
    """The number of ones in ``bits``: a balanced tree, whose leaves are functions of so many ``inputs``, 2 or 4.

    Four are what a look-up table takes; with standard cells they made nothing smaller or faster.
    """
    if len(bits) <= 1:
        return bits
    if len(bits) == 2:
        return Cat(bits[0] ^ bits[1], bits[0] & bits[1])
    if len(bits) == 3 and inputs == 4:
        return Cat(bits.xor(), bits[0] & bits[1] | bits[2] & (bits[0] | bits[1]))
    if len(bits) == 4 and inputs == 4:
        two = bits[0] & bits[1] | bits[2] & bits[3] | (bits[0] | bits[1]) & (bits[2] | bits[3])
        return Cat(bits.xor(), two & ~bits.all(), bits.all())
    half = len(bits) // 2
    return popcount(bits[:half], inputs) + popcount(bits[half:], inputs)


class _Network(wiring.Component):
    """All levels in a row, in the order of ``levels``, with the routes found for the given literals."""

    def __init__(self, word_bits: int, lanes: int, levels: Sequence[int]) -> None:
        self.word_bits = word_bits
        self.lanes = lanes
        self.order = levels
        super().__init__(
            {
                "literal": In(lanes),
                "offset": In(log2(lanes)),
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
        super().__init__(word_bits, lanes, range(log2(lanes)))


class Expander(_Network):
    """Moves words from consecutive lanes from ``offset`` on, cyclically, to the lanes that ``literal`` marks.

    Combinational; undoes a :class:`Concentrator` with the same ``literal`` and ``offset``.
    """

    def __init__(self, word_bits: int, lanes: int) -> None:
        super().__init__(word_bits, lanes, range(log2(lanes) - 1, -1, -1))
