"""Beats become rows of words, and rows are spread over the lanes."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import one_of, thermometer
from cdma.hdl.codec.parts.compressor import field_word, sent_of, table_of, table_word
from cdma.hdl.codec.parts.interface import table_members
from cdma.hdl.codec.parts.network import pairs
from cdma.hdl.spec.codec import CodecConfig

from .compressor import MOST_SELECTED, found_header
from .planner import Plan

__all__ = ["Expander", "Spreader", "WordRows", "window_members"]


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


class Spreader(wiring.Component):
    """Spreads the literals of a beat to their lanes, and adds the words that are not literals. Combinational.

    ``plan``
        The beat.
    ``fails``
        Says that it cannot be delivered. Literals that are missing are not stable, so they do not reach the output then.
    ``window``
        Its literals in the window of the rows; their complements if :attr:`inverted`.
    ``values``
        Table of frequent values, if the configuration leaves it to run time.
    ``data``
        The words.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt = config.format
        self.expander = Expander(fmt.stream_bits, config.units)
        super().__init__(
            {
                "plan": In(Plan(config)),
                "fails": In(1),
                "window": In(data.ArrayLayout(fmt.stream_bits, config.units)),
                **table_members(config),
                "data": Out(data.ArrayLayout(fmt.word_bits, config.lanes)),
            }
        )

    @property
    def inverted(self) -> bool:
        """Whether the window has complements."""
        return self.expander.inverted

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, plan = self.config, self.plan
        m.submodules.expander = expander = self.expander
        present = thermometer(plan.words, config.lanes) << 1 | 1
        m.d.comb += [
            expander.swap.eq(plan.swap),
            expander.straight.eq(plan.straight),
            expander.literal.eq(Mux(self.fails, 0, sent_of(plan.codes, present, config))),
            expander.input.eq(self.window),
        ]
        table = table_of(self, config)
        parts = config.format.parts
        for lane in range(config.lanes):
            code = plan.codes.word_select(lane, config.format.code_bits)
            if parts == 1:
                word = table_word(code, table) | expander.output[lane]
            else:
                of_word = Cat(expander.output[lane * parts + part] for part in range(parts))
                word = field_word(code, table, of_word, config)
            m.d.comb += self.data[lane].eq(word)
        return m


def window_members(
    word_bits: int,
    lanes: int,
    header_words: int,
    *,
    stored: int,
    visible: int,
    padded: bool,
    ahead: bool = False,
) -> dict[str, wiring.Member]:
    """The ports of a window of ``lanes`` words, as :class:`WordRows` has them, with at most so many beats ``stored`` and
    ``visible``."""
    row = data.ArrayLayout(word_bits, lanes)
    return {
        "arriving": In(row),
        "accept": In(1),
        "position": In(range(2 * lanes + padded)),
        **(
            {"head": In(range(8 * lanes))}
            if ahead
            else {"next_lane": In(lanes), "next_beat": In(range(2 + padded))}
        ),
        "move": In(1),
        "read": In(1),
        "forget": In(1),
        "fresh": In(1),
        "stored": Out(range(stored + 1)),
        "visible": Out(range(visible + 1)),
        "takes": Out(1),
        "window": Out(row),
        **({"offset": Out(range(lanes)), "following": Out(row)} if padded else {}),
        "header": Out(data.ArrayLayout(word_bits, header_words)),
    }


class WordRows(wiring.Component):
    """A window of ``lanes`` words that slides over a packet, and the beats after it.

    Beat 0 is the oldest beat that has words in the window. Words keep their lanes: the window holds the lanes of beat 0
    from some lane on, and the lanes of beat 1 below. So it has ``lanes`` words wherever it begins, and needs no multiplexer
    after it.

    ``stored``
        Number of stored beats. The beat at the input comes after them, so it is beat ``stored``.
    ``arriving``
        The beat at the input.
    ``accept``
        Stores this beat.
    ``move``
        Slides the window to ``position``. Beats before that leave, and words of the beat at the input that belong to the
        window go into it at once.
    ``position``
        The new beginning of the window, counted from lane 0 of beat 0.
    ``next_lane``, ``next_beat``
        Where the next header begins after this cycle: its lane, one bit each, and its beat. These find the header from
        registers, so they need be right only if the next beat to plan begins with one that is not ``fresh``.
    ``read``
        Skips the header at ``position``: the window slides to the word after it. Of a header of one word this may be high
        before the word has arrived, and stay high until it has: then there is no word to keep.
    ``fresh``
        Says that the header is at the beginning of the beat at the input, which becomes beat 0 with ``move``.
    ``forget``
        Drops all stored beats.
    ``visible``
        Number of beats whose words the window has: those that are stored.
    ``takes``
        Says that there is room for the beat at the input.
    ``window``
        The words of the window; their complements if ``inverted``.
    ``offset``, ``following``
        If windows are ``padded``: the lane of beat 0 in which the window begins, and the words of beat 1.
    ``header``
        The words from ``position`` on or, if ``fresh``, the first words of the beat at the input.

    If headers are read ``ahead``, ``header`` is at ``head``, counted from lane 0 of beat 0, in place of ``position``,
    ``next_lane`` and ``next_beat``; and a window that begins ``fresh`` begins with its header.
    """

    def __init__(
        self,
        word_bits: int,
        lanes: int,
        beats: int,
        header_words: int,
        *,
        inverted: bool = False,
        padded: bool = False,
        ahead: bool = False,
    ) -> None:
        self.lanes = lanes
        self.inverted = inverted
        self.ahead = ahead
        #: Whether windows are padded. Padding may end with beat 1.
        self.padded = padded
        #: Number of beats stored at most: one for the window, and one for each row after it.
        self.beats = beats
        self.header_words = header_words
        super().__init__(
            window_members(
                word_bits, lanes, header_words, stored=beats, visible=beats, padded=padded, ahead=ahead
            )
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        kept = Signal.like(self.window, name="window", reset_less=True)
        window = Signal.like(self.window, name="words")
        #: The rows after the window, for beat 1, beat 2, ...
        rows = {
            beat: Signal.like(self.window, name=f"row_{beat}", reset_less=True)
            for beat in range(1, self.beats)
        }
        #: Lane of beat 0 in which the window begins.
        offset = Signal(range(self.lanes))
        stored = Signal.like(self.stored)
        next_stored = Signal.like(self.stored)
        m.d.comb += [
            self.window.eq(kept),
            window.eq(self._turned(kept)),
            self.stored.eq(stored),
            self.visible.eq(stored),
        ]
        if self.padded:
            m.d.comb += [self.offset.eq(offset), self.following.eq(rows[1])]
        #: Says for each beat whether it is stored. These registers spare the header's way a comparison.
        has = Signal(self.beats)
        gone = self._slide(m, kept, window, rows, list(has), offset)
        retire = self._shift(m, rows, list(has), gone)
        with m.If(self.move):
            m.d.sync += offset.eq(gone)
        before = Mux((self.move & self.fresh) | self.forget, 0, stored)
        m.d.comb += next_stored.eq(Mux(retire > before, 0, before - retire + self.accept))
        next_has = Signal(self.beats)
        m.d.comb += next_has.eq(thermometer(next_stored, self.beats))
        m.d.sync += [stored.eq(next_stored), has.eq(next_has)]
        if self.ahead:
            self._read_ahead(m, [window, *rows.values()], has)
        else:
            select = self._turn_header if self.header_words > MOST_SELECTED else self._select_header
            select(m, [window, *rows.values()], next_has)
        return m

    def _turned(self, words: Value) -> Value:
        """The complement of ``words``, if that is what the window keeps."""
        return ~Value.cast(words) if self.inverted else Value.cast(words)

    def _slide(
        self,
        m: Module,
        kept_words: data.View,
        window: data.View,
        rows: dict[int, data.View],
        has: list[Value],
        offset: Signal,
    ) -> Value:
        """Loads the window; returns where it begins if it moves, counted from lane 0 of beat 0 or of the fresh beat.

        Where the window would go is found in advance, because whether it moves is known late.
        """
        levels = exact_log2(self.lanes)
        skipped = self.position + self.header_words
        # These are signals, not expressions, so that what all lanes use is elaborated once.
        target = Signal(range(3 * self.lanes + 1))
        target_below = Signal(self.lanes)
        below = Signal(self.lanes)
        m.d.comb += [
            target.eq(Mux(self.read, skipped, self.position)),
            target_below.eq(thermometer(target[:levels], self.lanes)),
            below.eq(thermometer(offset, self.lanes)),
        ]
        for lane in range(self.lanes):
            #: Number of the beat whose word the lane wants.
            wants = (target >> levels) + target_below[lane]
            stays = Mux(below[lane], has[1], has[0])
            kept = ~self.fresh & (
                (has[0] & ~below[lane] & (wants == 0)) | (has[1] & below[lane] & (wants == 1))
            )
            takes = []
            for beat, row in rows.items():
                taken = ~self.fresh & ~kept & has[beat] & (wants == beat)
                takes.append((taken, row[lane]))
            arrives = ~Cat(condition for condition, _ in takes).any()
            # A lane that keeps no word without a move takes none from a row either, so that only this waits for the move.
            keeps = Signal(name=f"keeps_{lane}")
            m.d.comb += keeps.eq(Mux(self.move, kept, stays))
            sources = (*takes, (arrives, self.arriving[lane]))
            word = one_of(
                (keeps, window[lane]), *((~keeps & condition, source) for condition, source in sources)
            )
            m.d.sync += kept_words[lane].eq(self._turned(word))
        return Mux(self.fresh, 0 if self.ahead else self.header_words, target)

    def _shift(self, m: Module, rows: dict[int, data.View], has: list[Value], gone: Value) -> Signal:
        """Shifts the rows down by the beats that leave; returns the number of these."""
        retire = Signal(range(4))
        m.d.comb += [
            retire.eq(Mux(self.move, gone >> exact_log2(self.lanes), 0)),
            self.takes.eq((self.stored < self.beats) | (retire != 0)),
        ]
        for beat, row in rows.items():
            cases = [((retire == later - beat) & has[later], rows[later]) for later in rows if later >= beat]
            taken = Value.cast(0)
            for condition, _ in cases:
                taken = taken | condition
            words = [(condition, Value.cast(source)) for condition, source in cases]
            m.d.sync += row.eq(one_of(*words, (~taken, Value.cast(self.arriving))))
        return retire

    def _select_header(self, m: Module, sources: list[data.View], next_has: Value) -> None:
        """Selects each word of the header by its beat and lane, in one step. The selection is found a cycle ahead."""
        inputs = [*sources, self.arriving]
        #: For each input and lane, whether the header begins there; and the same for the beat after that in which it
        #: begins, as far as it goes on there.
        begins = [Signal(self.lanes, name=f"begins_{number}") for number in range(len(inputs))]
        goes_on = [Signal(self.lanes, name=f"goes_on_{number}") for number in range(len(inputs))]
        for further, selection in enumerate((begins, goes_on)):
            there = self._next_there(further, next_has)
            m.d.sync += [
                flags.eq(Mux(here, self.next_lane, 0)) for flags, here in zip(selection, there, strict=True)
            ]
        for word in range(self.header_words):
            cases = []
            for number in range(self.lanes):
                selection = goes_on if number < word else begins
                for flags, words in zip(selection, inputs, strict=True):
                    cases.append((flags[number - word], words[number]))
            m.d.comb += self.header[word].eq(Mux(self.fresh, self.arriving[word], one_of(*cases)))

    def _turn_header(self, m: Module, sources: list[data.View], next_has: Value) -> None:
        """Selects the ``lanes`` words from the header on, each in its lane, and turns the first of them to lane 0."""
        inputs = [*sources, self.arriving]
        #: The lane of the header, and the lanes below it.
        first = Signal(range(self.lanes))
        below = Signal(self.lanes)
        #: Which input has the lanes from the header on, and which has those below it.
        there = [Signal(len(inputs), name=f"there_{further}") for further in range(2)]
        lanes = range(self.lanes)
        bits = [Cat(self.next_lane[lane] for lane in lanes if lane >> bit & 1) for bit in range(len(first))]
        m.d.sync += [
            first.eq(Cat(of_bit.any() for of_bit in bits)),
            below.eq(Cat(self.next_lane[lane + 1 :].any() for lane in lanes)),
            *(flags.eq(self._next_there(further, next_has)) for further, flags in enumerate(there)),
        ]
        words = found_header(m, inputs, there, first, below)
        for word in range(self.header_words):
            m.d.comb += self.header[word].eq(Mux(self.fresh, self.arriving[word], words[word]))

    def _read_ahead(self, m: Module, sources: list[data.View], has: Value) -> None:
        """Turns the header at ``head`` to lane 0, or the fresh one, which is there in the beat at the input."""
        levels = exact_log2(self.lanes)
        first, beat = Mux(self.fresh, 0, self.head[:levels]), self.head[levels:]
        has = Mux(self.fresh, 0, has)
        #: Which input has the lanes from the header on, and which has those below it.
        there = [Signal(self.beats + 1, name=f"there_{further}") for further in range(2)]
        for further, flags in enumerate(there):
            held = Cat((beat + further == number) & has[number] for number in range(self.beats))
            # This does not wait for the other flags.
            is_held = Cat((beat + further <= number) & has[number] for number in range(self.beats)).any()
            m.d.comb += flags.eq(Cat(held, ~is_held))
        words = found_header(m, [*sources, self.arriving], there, first, thermometer(first, self.lanes))
        m.d.comb += Cat(self.header).eq(Cat(words[: self.header_words]))

    def _next_there(self, further: int, next_has: Value) -> Value:
        """Says for each stored beat, and at last for that at the input, whether it will be the one in which the header
        begins, or the one so much ``further``. A beat that is not stored counts as the one at the input."""
        held = [(self.next_beat + further == number) & next_has[number] for number in range(self.beats)]
        return Cat(*held, ~Cat(held).any())
