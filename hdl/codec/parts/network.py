"""The network that moves words to their lanes: levels, placement and the butterfly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from cdma.hdl.blocks.arithmetic import one_of, popcount, rotate_up, thermometer
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import StreamFormat

__all__ = [
    "Arrival",
    "Exchange",
    "Placed",
    "Placement",
    "Ranking",
    "Ranks",
    "Routes",
    "Settings",
    "Step",
    "counts_stored",
    "exchange",
    "keep",
    "kept_settings",
    "last_header_part",
    "pairs",
    "settings_of",
    "stored_word",
    "words_of_last_beat",
]


def counts_stored(format: StreamFormat) -> bool:
    """Whether what is stored of the words of a packet is counted apart from its literals, being something else."""
    return format.parts > 1 or format.align_words > 1


def last_header_part(config: CodecConfig) -> int:
    """Stream words of the last part of a header; each part before it fills a beat."""
    return config.format.header_words - (config.header_beats - 1) * config.units


class Step(data.StructLayout):
    """One beat of a window, ready to be packed. Its words are stream words.

    ``words``
        Holds the literals, or parts of words, that are stored, each in its lane of the output beats.
    ``header``
        Header of the window; valid with the first beat of a window only.
    ``first``
        Begins a window.
    ``last``
        Ends a packet.
    ``start``
        Number of words in the output beat that this step continues: 0 at the start of a packet, then 1 to ``units``.
    ``total``
        Number of words of ``start`` and of this step, padding included. Of a header longer than a beat only the last part
        counts.
    ``padding``
        Number of words of padding at the end of this step, in formats with padded windows.
    ``more``
        Says that a word of the packet is known to follow this step. Only a compressor with less than two queued beats
        needs it.
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
                **({"padding": range(fmt.align_words)} if fmt.align_words > 1 else {}),
                **({} if config.work_conserving else {"more": 1}),
            }
        )


def words_of_last_beat(total: Value, units: int, over_one: Value, over_two: Value) -> Value:
    """The number of a step's ``total`` words that are in the last output beat with any.

    ``over_one`` and ``over_two`` say whether words go beyond the first output beat and the second.
    """
    return Mux(over_two, total - 2 * units, Mux(over_one, total - units, total))


class Arrival(data.StructLayout):
    """What is counted of a beat.

    ``words``, ``literals``
        Number of words, and of literals among them.
    ``stored``
        Number of stream words that are stored of them, or pad their window, if they are counted apart.
    ``last``
        Ends the packet.
    ``malformed``
        Says that the beat is :func:`~cdma.hdl.blocks.registers.malformed`.
    """

    def __init__(self, config: CodecConfig) -> None:
        lanes = config.lanes
        super().__init__(
            {
                "words": range(lanes + 1),
                "literals": range(lanes + 1),
                **(
                    {"stored": range(config.units + config.format.align_words)}
                    if counts_stored(config.format)
                    else {}
                ),
                "last": 1,
                "malformed": 1,
            }
        )


#: What sets each level: ``swap`` and ``straight`` of its :class:`Exchange`.
Settings = Mapping[int, tuple[Value, Value]]


def settings_of(routes: Routes) -> Settings:
    """The settings of all levels, as ``routes`` finds them."""
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


class Placed(data.StructLayout):
    """A step, or a part of its header, and what each lane of the output beats takes from it.

    ``words``
        Holds what is stored, each in its lane of the output beats.
    ``header``
        Holds the words of the header, each in its lane. A header of one word has one field for all lanes.
    ``old``
        Says which lanes of the first beat, a stream word each, have their words already.
    ``in_header``
        Says which lanes of the first beat and, above them, of the second are old or take a word of the header. All other
        lanes take what is stored.
    ``over_one``, ``over_two``
        Say that words go beyond the first beat, and beyond the second.
    ``remaining``
        Number of words in the last beat that has any.
    ``filled``
        Says which lanes of that beat are not padding, in formats with padded windows.
    ``last``
        Ends the packet.
    ``more``
        Says that another word of the packet is known to follow, if the step says so too.
    """

    def __init__(self, config: CodecConfig) -> None:
        fmt, units = config.format, config.units
        header_part = min(fmt.header_words, units)
        super().__init__(
            {
                "words": data.ArrayLayout(fmt.stream_bits, units),
                "header": data.ArrayLayout(fmt.stream_bits, units if header_part > 1 else 1),
                "old": units,
                "in_header": units + header_part,
                "over_one": 1,
                "over_two": 1,
                "remaining": range(units + 1),
                **({"filled": units} if fmt.align_words > 1 else {}),
                "last": 1,
                **({} if config.work_conserving else {"more": 1}),
            }
        )


def stored_word(placed: Value, lane: int, goes_on: Value, config: CodecConfig) -> Value:
    """The stored word of a lane of an output beat; 0 where that beat, the last of its step, has padding.

    ``goes_on`` says that words of the step go beyond this beat.
    """
    if config.format.align_words == 1:
        return placed.words[lane]
    return Mux(goes_on | placed.filled[lane], placed.words[lane], 0)


class Placement(wiring.Component):
    """Finds the positions of words in the output beats.

    ``step``
        Steps of windows. A header longer than a beat is placed part by part, a cycle each; its last part goes with the
        step.
    ``placed``
        The step, or a part of its header, with the lanes for its words.

    Latency: none; the outputs follow the inputs within the cycle.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {"step": In(stream.Signature(Step(config))), "placed": Out(stream.Signature(Placed(config)))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, units = self.config.format, self.config.units
        header_part = min(fmt.header_words, units)
        header_parts, last_part = self.config.header_beats, last_header_part(self.config)
        step, placed = self.step.payload, self.placed.payload

        part = Signal(range(header_parts))
        start: Value = step.start
        alone: Value = Signal(name="header_alone")
        parts = [step.header[word] for word in range(header_part)]
        if header_parts > 1:
            m.d.comb += alone.eq(step.first & (part != header_parts - 1))
            # The parts before this one have filled the output beat, if it was empty.
            start = Mux(step.first & (part != 0) & (step.start == 0), units, step.start)
            by_part = data.ArrayLayout(data.ArrayLayout(fmt.stream_bits, header_part), header_parts)
            header = Value.cast(step.header)
            if last_part < header_part:
                header = Cat(header, Const(0, by_part.size - len(header)))
            parts = [data.View(by_part, header)[part][word] for word in range(header_part)]
            with m.If(self.placed.valid & self.placed.ready):
                m.d.sync += part.eq(Mux(alone, part + 1, 0))
        if header_part > 1:
            # The rotation takes a power of two; what fills the header up to that is in no lane of the header.
            rotated = 1 << ceil_log2(header_part)
            parts += [Const(0, fmt.stream_bits)] * (rotated - header_part)
            parts = rotate_up(parts * (units // rotated), start[: exact_log2(units)])
        in_header: Value = Cat(Const(-1, last_part), thermometer(start, units))
        if last_part < header_part:
            in_header = Mux(alone, Cat(Const(-1, header_part), thermometer(start, units)), in_header)
        total = Signal.like(step.total)
        m.d.comb += [
            self.placed.valid.eq(self.step.valid),
            self.step.ready.eq(self.placed.ready & ~alone),
            total.eq(Mux(alone, start + units, step.total)),
            placed.words.eq(step.words),
            *(placed.header[lane].eq(word) for lane, word in enumerate(parts)),
            placed.old.eq(thermometer(start, units)),
            # A header of h words reaches h lanes beyond the old words.
            placed.in_header.eq(Mux(step.first, in_header, 0)),
            placed.over_one.eq(total > units),
            placed.over_two.eq(total > 2 * units),
            placed.remaining.eq(words_of_last_beat(total, units, placed.over_one, placed.over_two)),
            placed.last.eq(step.last & ~alone),
        ]
        if fmt.align_words > 1:
            m.d.comb += placed.filled.eq(thermometer(placed.remaining - step.padding, units))
        if not self.config.work_conserving:
            # The parts of a header before its last keep the beat that they fill, as the positions of words have it.
            m.d.comb += placed.more.eq(step.more & ~alone)
        return m


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

    ``inputs`` is that of :func:`~cdma.hdl.blocks.arithmetic.popcount`.

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
