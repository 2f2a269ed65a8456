"""The butterfly that moves words to their lanes: its levels, what sets them, and the steps that it makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import count_ones, one_of, popcount
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import StreamFormat


def counts_stored(format: StreamFormat) -> bool:
    """Whether the stream words of a packet are counted one by one, because they do not follow from its literals and windows:
    with parts of words, padding, or the masks of two levels."""
    return format.parts > 1 or format.align_words > 1 or format.mask_words > 0


def head_words(format: StreamFormat) -> int:
    """The most stream words before the literals of a beat: the mask of its group, and the header of its window."""
    return format.mask_words + format.header_words


def last_header_part(config: CodecConfig) -> int:
    """Stream words of the last part of a header; each part before it fills a beat."""
    return config.format.header_words - (config.header_beats - 1) * config.units


def padding_after(m: Module, config: CodecConfig, end: Value, ends_window: Value) -> Signal:
    """The words of padding after the position ``end`` if that ``ends_window``; without bits where windows are not padded."""
    padding = Signal(range(config.format.align_words))
    m.d.comb += padding.eq(Mux(ends_window, -end, 0))
    return padding


def with_padding(number: Value, padding: Value) -> Value:
    """A ``number`` of words and those of ``padding``."""
    return number + padding if len(padding) else number


class Step(data.StructLayout):
    """One beat of a window, ready to be packed. Its words are stream words.

    ``words``: The literals, or parts of words, that are stored, each in its lane of the output beats.
    ``header``: Header of the window; valid with the first beat of a window only.
    ``first``, ``last``: Begins a window; ends a packet.
    ``start``: Number of words in the output beat that this step continues: 0 at the start of a packet, then 1 to
        ``units``.
    ``total``: Number of words of ``start`` and of this step, padding included. Of a header longer than a beat only the
        last part counts.
    ``padding``: Number of words of padding at the end of this step; without bits where windows are not padded.
    ``more``: A word of the packet is known to follow this step; one bit in a compressor that is not work-conserving.
    ``opens``, ``mask``: Begins a group; the group's mask, valid then. Both have no bits with one level.
    """

    def __init__(self, config: CodecConfig) -> None:
        fmt, units = config.format, config.units
        super().__init__(
            {
                "words": data.ArrayLayout(fmt.stream_bits, units),
                "header": data.ArrayLayout(fmt.stream_bits, fmt.header_words),
                "first": 1,
                "last": 1,
                "start": range(units + 1),
                "total": range(3 * units + 1),
                "padding": range(fmt.align_words),
                "more": int(not config.work_conserving),
                "opens": int(fmt.mask_words > 0),
                "mask": data.ArrayLayout(fmt.stream_bits, fmt.mask_words),
            }
        )


def words_of_last_beat(total: Value, units: int, over_one: Value, over_two: Value) -> Value:
    """The number of words of a step with ``total`` words in its last output beat; ``over_one`` and ``over_two`` if words go
    beyond its first beat and its second."""
    return Mux(over_two, total - 2 * units, Mux(over_one, total - units, total))


def most_stored(config: CodecConfig) -> int:
    """The most stream words that are counted of a beat."""
    return config.units + config.format.align_words - 1 + head_words(config.format)


class Arrival(data.StructLayout):
    """Counts of a beat.

    ``words``, ``literals``: Number of words, and of literals among them.
    ``stored``: Number of stream words, those of the header and the mask before them included, where they are counted.
    ``last``: Ends the packet.
    ``malformed``: The beat is :func:`~cdma.hdl.blocks.registers.malformed`.
    """

    def __init__(self, config: CodecConfig) -> None:
        stored = range(most_stored(config) + 1)
        super().__init__(
            {
                "words": range(config.lanes + 1),
                "literals": range(config.lanes + 1),
                **optional(counts_stored(config.format), stored=stored),
                "last": 1,
                "malformed": 1,
            }
        )


#: ``swap`` and ``straight`` of the :class:`Exchange` of each level.
Settings = Mapping[int, tuple[Value, Value]]


def settings_of(routes: Routes) -> Settings:
    """The settings of all levels, by ``routes``."""
    return {level: (routes.swap[level], ~routes.swap[level]) for level in range(routes.levels)}


def kept_settings(config: CodecConfig, levels: Iterable[int], name: str) -> Settings:
    """Registers for the settings of ``levels``; ``name`` has a pair of braces for ``swap`` or ``straight``."""
    pairs = config.units // 2
    return {
        level: (
            Signal(pairs, name=f"{name.format('swap')}_{level}", reset_less=True),
            Signal(pairs, name=f"{name.format('straight')}_{level}", reset_less=True),
        )
        for level in levels
    }


def keep(m: Module, kept: Settings, settings: Settings) -> None:
    """Loads the registers ``kept`` with the ``settings`` of their levels."""
    m.d.sync += [Cat(registers).eq(Cat(settings[level])) for level, registers in kept.items()]


def exchange(
    m: Module, config: CodecConfig, words: Value, levels: Iterable[int], settings: Settings
) -> Value:
    """Passes ``words`` through ``levels``, in that order, within a cycle."""
    for level in levels:
        m.submodules[f"exchange_{level}"] = stage = Exchange(config.format.stream_bits, config.units, level)
        m.d.comb += [
            stage.input.eq(words),
            stage.swap.eq(settings[level][0]),
            stage.straight.eq(settings[level][1]),
        ]
        words = stage.output
    return words


class Exchange(wiring.Component):
    """One level of the network: pairs of lanes whose numbers differ in one bit exchange their words, or keep them.

    Combinational.

    ``swap``: The pairs that exchange their words, in the order of the lower lanes.
    ``straight``: Complement of ``swap``. With a register for each of the two, the selection of the words needs fewer
        gates, and saves more than the registers cost.
    ``input``, ``output``: Words of all lanes, before and after the level.
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
    return [block + lane for block in range(0, lanes, 2 << level) for lane in range(1 << level)]


class Ranks(data.StructLayout):
    """Numbers of literals of a beat.

    ``count``: Number of literals in all lanes.
    ``below``: Number of literals below each lane but lane 0, modulo the size of the largest block of lanes that has
        this lane in its middle, which is enough for routes.
    """

    def __init__(self, lanes: int) -> None:
        # Entries with names of their own become wires of their own: counts of many literals are made of counts of few,
        # and in one vector that looks like a loop to Verilator.
        below = {f"lane_{lane}": (lane & -lane).bit_length() for lane in range(1, lanes)}
        super().__init__({"count": range(lanes + 1), "below": data.StructLayout(below)})


#: Lanes of a beat whose counts are sooner found with carries apart.
MANY = 32


class Ranking(wiring.Component):
    """Counts the literals of a beat. Combinational.

    ``literal``: The lanes with a literal.
    ``ranks``: The counts.
    ``groups``: Port of a ``grouped`` block: the counts of as many lanes each, which are known before.
    ``offset``: Port of a ``from_offset`` block: the counts below lanes begin with it. Each count then follows from
        another one, with fewer gates than a count for each lane and an addition. The path from ``literal`` is longer,
        so both should come early.

    ``inputs`` is that of :func:`~cdma.hdl.blocks.arithmetic.popcount`.
    """

    def __init__(self, lanes: int, inputs: int = 2, *, from_offset: bool = False, grouped: int = 0) -> None:
        self.lanes = lanes
        self.inputs = inputs
        self.from_offset = from_offset
        self.group = grouped or lanes + 1
        groups = data.ArrayLayout(self.group.bit_length(), lanes // self.group)
        super().__init__(
            {
                "literal": In(lanes),
                **optional(from_offset, offset=In(exact_log2(lanes))),
                **optional(grouped, groups=In(groups)),
                "ranks": Out(Ranks(lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.ranks.count.eq(self._count(self.lanes))
        if not self.from_offset:
            for lane in range(1, self.lanes):
                m.d.comb += self.ranks.below[f"lane_{lane}"].eq(self._count(lane))
            return m
        below: dict[int, Value] = {0: self.offset}
        for lane in range(1, self.lanes):
            # Counted from the lane whose count is modulo a larger number.
            size = lane & -lane
            middle = lane - size
            counted = popcount(self.literal[middle:lane], self.inputs)
            below[lane] = self.ranks.below[f"lane_{lane}"]
            count = below[middle] + counted
            if self.lanes >= MANY and size > 1:
                # Many sums in a row take long.
                count = count_ones(m, self.literal[:lane], f"before_{lane}", self.offset[: size.bit_length()])
            m.d.comb += below[lane].eq(count)
        return m

    def _count(self, lanes: int) -> Value:
        """The literals in the first ``lanes``."""
        whole = lanes // self.group
        counts = [self.groups[group] for group in range(whole)]
        if lanes % self.group:
            counts.append(popcount(self.literal[whole * self.group : lanes], self.inputs))
        while len(counts) > 1:
            counts = [sum(counts[at : at + 2]) for at in range(0, len(counts), 2)]
        return counts[0]


class Routes(wiring.Component):
    """Finds the exchanges that route the literals of a beat to consecutive lanes. Combinational.

    ``ranks``: Counts of the literals.
    ``offset``: Lane of the first literal after routing. With ``from_offset`` the counts include it, and there is no
        such port.
    ``swap``: The pairs of each level that exchange their words.

    From the last level back to the first, each level splits blocks of lanes into halves. The literals from the upper half of
    a block go to consecutive lanes, the first of which is ``boundary = offset + literals below the middle of the block``. So
    lane ``j`` of the lower half receives a word from the upper half exactly if ``boundary``, modulo the size of the block,
    is at ``j`` or below in the lower half, or above the partner of ``j`` in the upper half. Each count of :class:`Ranks` is
    needed for one block only.
    """

    def __init__(self, lanes: int, *, from_offset: bool = False) -> None:
        self.lanes = lanes
        self.from_offset = from_offset
        self.levels = exact_log2(lanes)
        super().__init__(
            {
                "ranks": In(Ranks(lanes)),
                **optional(not from_offset, offset=In(self.levels)),
                "swap": Out(data.ArrayLayout(lanes // 2, self.levels)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for level in range(self.levels):
            half = 1 << level
            for middle in range(half, self.lanes, 2 * half):
                boundary = Signal(level + 1, name=f"boundary_{middle}")
                below = self.ranks.below[f"lane_{middle}"]
                m.d.comb += boundary.eq(below if self.from_offset else self.offset + below)
                for position in range(half):
                    pair = (middle - half) // 2 + position
                    m.d.comb += self.swap[level][pair].eq(~(boundary[level] ^ (position < boundary[:level])))
        return m
