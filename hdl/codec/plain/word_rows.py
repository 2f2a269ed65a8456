"""The words that a plain decompressor has: rows of stored beats, or a single beat and the one at the input."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import one_of, thermometer
from cdma.hdl.blocks.elaboration import flags, optional
from cdma.hdl.codec.parts.network import pairs

#: The longest header whose words are each selected from all lanes; a longer one is cheaper to rotate into its place.
_MOST_SELECTED = 8


def _turned_down(m: Module, words: Sequence[Value], amount: Value) -> list[Value]:
    """The words, each moved down by ``amount`` lanes, cyclically; their number is a power of two."""
    lanes = len(words)
    for level in reversed(range(exact_log2(lanes))):
        turned = [Signal.like(words[0], name=f"turned_{level}_{lane}") for lane in range(lanes)]
        for lane in range(lanes):
            m.d.comb += turned[lane].eq(Mux(amount[level], words[(lane + (1 << level)) % lanes], words[lane]))
        words = turned
    return list(words)


def _found_header(
    m: Module, beats: Sequence[data.View], sources: Sequence[Value], first: Value, below: Value
) -> list[Value]:
    """A beat's number of words, from lane ``first`` of one of the ``beats`` on.

    ``sources``: The beat that has these lanes, one bit each; and the beat that has the lanes ``below``.
    """
    words: list[Value] = []
    for lane in range(len(below)):
        chosen = Signal(len(beats), name=f"chosen_{lane}")
        m.d.comb += chosen.eq(Mux(below[lane], sources[1], sources[0]))
        words.append(one_of(*((chosen[number], beat[lane]) for number, beat in enumerate(beats))))
    return _turned_down(m, words, first)


class _Window(wiring.Component):
    """A window of ``lanes`` words that slides over the beats of a packet.

    Beat 0 is the oldest beat that has words in the window. Words keep their lanes: the window has the lanes of beat 0 from
    some lane on, and the lanes of beat 1 below. So it has ``lanes`` words wherever it begins, and needs no multiplexer after
    it.

    ``arriving``: The beat at the input. It comes after the stored beats, so it is beat ``stored``.
    ``accept``: Stores this beat.
    ``move``: Slides the window to ``position``. Beats before that leave, and words of the beat at the input that belong
        to the window are loaded at once.
    ``position``: The new beginning of the window, counted from lane 0 of beat 0.
    ``next_lane``, ``next_beat``: The place of the next header after this cycle: its lane, one bit each, and its beat.
        They are used only if the next beat to plan begins with a header that is not ``fresh``.
    ``read``: Skips the header at ``position``: the window slides to the word after it. For a header of one word this
        may be high before the word has arrived, and stays high until then, because there is no word to keep.
    ``fresh``: The header is at the beginning of the beat at the input, which becomes beat 0 with ``move``.
    ``forget``: Drops all stored beats.
    ``stored``: Number of stored beats.
    ``visible``: Number of beats whose words are in the window.
    ``room``: There is room for the beat at the input.
    ``window``: The words of the window; their complements if ``inverted``.
    ``offset``, ``following``: If windows are ``padded``: the lane of beat 0 in which the window begins, and the words
        of beat 1.
    ``header``: The words from ``position`` on or, if ``fresh``, the first words of the beat at the input.
    """

    def __init__(
        self,
        word_bits: int,
        lanes: int,
        header_words: int,
        *,
        beats: int,
        visible: int,
        inverted: bool,
        padded: bool,
        **further: wiring.Member,
    ) -> None:
        self.lanes = lanes
        self.header_words = header_words
        #: Number of beats stored at most.
        self.beats = beats
        self.inverted = inverted
        self.padded = padded
        row = data.ArrayLayout(word_bits, lanes)
        super().__init__(
            {
                "arriving": In(row),
                "accept": In(1),
                "position": In(range(2 * lanes + padded)),
                **further,
                **flags(In, "move", "read", "forget", "fresh"),
                "stored": Out(range(beats + 1)),
                "visible": Out(range(visible + 1)),
                "room": Out(1),
                "window": Out(row),
                **optional(padded, offset=Out(range(lanes)), following=Out(row)),
                "header": Out(data.ArrayLayout(word_bits, header_words)),
            }
        )

    def turned(self, words: Value) -> Value:
        """The complement of ``words`` if the window is inverted."""
        return ~Value.cast(words) if self.inverted else Value.cast(words)

    def _show_padding(self, m: Module, offset: Value, following: Value) -> None:
        """Drives the ports that only a window of padded windows has."""
        if self.padded:
            m.d.comb += [self.offset.eq(offset), self.following.eq(following)]


def _next_header(lanes: int, *, padded: bool) -> dict[str, wiring.Member]:
    """The ports for the place of the next header. Padding may end with beat 1."""
    return {"next_lane": In(lanes), "next_beat": In(range(2 + padded))}


class WordRows(_Window):
    """A window of words in a register, and rows for the ``beats`` after it.

    The ports are those of :class:`_Window`; all stored beats are visible. ``next_lane`` and ``next_beat`` find the header
    from registers.
    """

    #: Words before the window when it begins with a fresh header.
    skipped: int

    def __init__(
        self, word_bits: int, lanes: int, beats: int, header_words: int, *, inverted: bool, padded: bool
    ) -> None:
        self.skipped = header_words
        super().__init__(
            word_bits,
            lanes,
            header_words,
            beats=beats,
            visible=beats,
            inverted=inverted,
            padded=padded,
            **self._header_place(lanes, padded=padded),
        )

    def _header_place(self, lanes: int, *, padded: bool) -> dict[str, wiring.Member]:
        return _next_header(lanes, padded=padded)

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
            window.eq(self.turned(kept)),
            self.stored.eq(stored),
            self.visible.eq(stored),
        ]
        self._show_padding(m, offset, rows[1])
        #: The beats that are stored, one bit each: registers, because the path of the header has no time for a comparison.
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
        self._find_header(m, [window, *rows.values(), self.arriving], has, next_has)
        return m

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

        ``move`` comes late, so the place of a window that moves is found in any case.
        """
        levels = exact_log2(self.lanes)
        skipped = self.position + self.header_words
        # Signals, not expressions, so that the logic that all lanes share is elaborated once.
        target = Signal(range(3 * self.lanes + 1))
        target_below = Signal(self.lanes)
        below = Signal(self.lanes)
        m.d.comb += [
            target.eq(Mux(self.read, skipped, self.position)),
            target_below.eq(thermometer(target[:levels], self.lanes)),
            below.eq(thermometer(offset, self.lanes)),
        ]
        for lane in range(self.lanes):
            #: Number of the beat whose word the lane needs.
            wants = (target >> levels) + target_below[lane]
            stays = Mux(below[lane], has[1], has[0])
            kept = ~self.fresh & (
                (has[0] & ~below[lane] & (wants == 0)) | (has[1] & below[lane] & (wants == 1))
            )
            moves = []
            for beat, row in rows.items():
                loads = Signal(name=f"loads_row_{beat}_{lane}")
                m.d.comb += loads.eq(~self.fresh & ~kept & has[beat] & (wants == beat))
                moves.append((loads, row[lane]))
            arrives = ~Cat(condition for condition, _ in moves).any()
            # A lane that keeps no word without a move gets none from a row either, so that only this waits for ``move``.
            keeps = Signal(name=f"keeps_{lane}")
            m.d.comb += keeps.eq(Mux(self.move, kept, stays))
            sources = (*moves, (arrives, self.arriving[lane]))
            word = one_of(
                (keeps, window[lane]), *((~keeps & condition, source) for condition, source in sources)
            )
            m.d.sync += kept_words[lane].eq(self.turned(word))
        return Mux(self.fresh, self.skipped, target)

    def _shift(self, m: Module, rows: dict[int, data.View], has: list[Value], gone: Value) -> Signal:
        """Shifts the rows down by the beats that leave; returns the number of these."""
        retire = Signal(range(4))
        m.d.comb += [
            retire.eq(Mux(self.move, gone >> exact_log2(self.lanes), 0)),
            self.room.eq((self.stored < self.beats) | (retire != 0)),
        ]
        for beat, row in rows.items():
            words = []
            moved = Value.cast(0)
            for later in range(beat, self.beats):
                condition = (retire == later - beat) & has[later]
                moved = moved | condition
                words.append((condition, Value.cast(rows[later])))
            m.d.sync += row.eq(one_of(*words, (~moved, Value.cast(self.arriving))))
        return retire

    def _find_header(self, m: Module, inputs: list[data.View], has: Value, next_has: Value) -> None:
        """Finds the header in the ``inputs``, which are the window, the rows and the beat at the input."""
        select = self._turn_header if self.header_words > _MOST_SELECTED else self._select_header
        select(m, inputs, next_has)

    def _select_header(self, m: Module, inputs: list[data.View], next_has: Value) -> None:
        """Selects each word of the header by its beat and lane, in one step. The selection is found a cycle ahead."""
        #: For each input and lane, whether the header begins there; and whether it goes on there, in its second beat.
        begins = [Signal(self.lanes, name=f"begins_{number}") for number in range(len(inputs))]
        goes_on = [Signal(self.lanes, name=f"goes_on_{number}") for number in range(len(inputs))]
        for further, selection in enumerate((begins, goes_on)):
            source = self._next_source(further, next_has)
            m.d.sync += [
                flags.eq(Mux(found, self.next_lane, 0))
                for flags, found in zip(selection, source, strict=True)
            ]
        for word in range(self.header_words):
            cases = []
            for number in range(self.lanes):
                selection = goes_on if number < word else begins
                for begin, words in zip(selection, inputs, strict=True):
                    cases.append((begin[number - word], words[number]))
            m.d.comb += self.header[word].eq(Mux(self.fresh, self.arriving[word], one_of(*cases)))

    def _turn_header(self, m: Module, inputs: list[data.View], next_has: Value) -> None:
        """Selects the ``lanes`` words from the header on, each in its lane, and rotates the first of them to lane 0."""
        #: The lane of the header, and the lanes below it.
        first = Signal(range(self.lanes))
        below = Signal(self.lanes)
        #: The input with the lanes from the header on, and the one with the lanes below it.
        sources = [Signal(len(inputs), name=f"source_{further}") for further in range(2)]
        lanes = range(self.lanes)
        bits = [
            Cat(self.next_lane[lane | 1 << bit] for lane in pairs(self.lanes, bit))
            for bit in range(len(first))
        ]
        m.d.sync += [
            first.eq(Cat(of_bit.any() for of_bit in bits)),
            below.eq(Cat(self.next_lane[lane + 1 :].any() for lane in lanes)),
            *(flags.eq(self._next_source(further, next_has)) for further, flags in enumerate(sources)),
        ]
        words = _found_header(m, inputs, sources, first, below)
        for word in range(self.header_words):
            m.d.comb += self.header[word].eq(Mux(self.fresh, self.arriving[word], words[word]))

    def _next_source(self, further: int, next_has: Value) -> Value:
        """The input in which the header will begin, or the one so much ``further``, one bit each; a beat that is not stored
        is at the input."""
        held = [(self.next_beat + further == number) & next_has[number] for number in range(self.beats)]
        return Cat(*held, ~Cat(held).any())


class WordRowsAhead(WordRows):
    """Rows whose headers are read ahead: ``header`` is at ``head``, counted from lane 0 of beat 0, or at the beginning of a
    fresh beat. That port is in place of ``next_lane`` and ``next_beat``; a window that begins ``fresh`` begins with its
    header."""

    def __init__(self, *shape: int, **options: bool) -> None:
        super().__init__(*shape, **options)
        self.skipped = 0

    def _header_place(self, lanes: int, *, padded: bool) -> dict[str, wiring.Member]:
        return {"head": In(range(8 * lanes))}

    def _find_header(self, m: Module, inputs: list[data.View], has: Value, next_has: Value) -> None:
        """Rotates the header to lane 0."""
        levels = exact_log2(self.lanes)
        first, beat = Mux(self.fresh, 0, self.head[:levels]), self.head[levels:]
        has = Mux(self.fresh, 0, has)
        #: The input with the lanes from the header on, and the one with the lanes below it.
        sources = [Signal(self.beats + 1, name=f"source_{further}") for further in range(2)]
        for further, source in enumerate(sources):
            held = Cat((beat + further == number) & has[number] for number in range(self.beats))
            # Independent of ``held``, so that it is not later.
            is_held = Cat((beat + further <= number) & has[number] for number in range(self.beats)).any()
            m.d.comb += source.eq(Cat(held, ~is_held))
        words = _found_header(m, inputs, sources, first, thermometer(first, self.lanes))
        m.d.comb += Cat(self.header).eq(Cat(words[: self.header_words]))


class HeldBeat(_Window):
    """A window whose first words are in a register, and the others still at the input.

    Beat 0 is the beat that is held or, if none is, the beat at the input; below its lanes the window has those of the beat
    at the input. The ports are those of :class:`_Window`, with these differences:

    ``arrives``: The beat at the input belongs to the packet. It then stays there until it is accepted.
    ``stored``, ``visible``: Number of beats that are held, 0 or 1; the same with the beat at the input.
    ``room``: The beat at the input, if it is of the packet, must be accepted: the window has moved past the held one.
    """

    def __init__(
        self, word_bits: int, lanes: int, header_words: int, *, inverted: bool, padded: bool
    ) -> None:
        super().__init__(
            word_bits,
            lanes,
            header_words,
            beats=1,
            visible=2,
            inverted=inverted,
            padded=padded,
            arrives=In(1),
            **_next_header(lanes, padded=padded),
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        levels = exact_log2(self.lanes)
        held = Signal.like(self.window, reset_less=True)
        holds = Signal()
        #: Lane of beat 0 in which the window begins.
        offset = Signal(range(self.lanes))
        #: The window's place after a move, and the number of beats before it.
        target = Signal(range(3 * self.lanes + 1))
        passed = Signal(2)
        below = Signal(self.lanes)
        m.d.comb += [
            target.eq(Mux(self.fresh, 0, self.position) + Mux(self.fresh | self.read, self.header_words, 0)),
            passed.eq(target >> levels),
            below.eq(thermometer(offset, self.lanes) | (~holds).replicate(self.lanes)),
            self.stored.eq(holds),
            self.visible.eq(holds + self.arrives),
            self.room.eq(~holds | (self.move & ((passed != 0) | self.fresh))),
        ]
        self._show_padding(m, offset, self.arriving)
        for lane in range(self.lanes):
            word = Mux(below[lane], self.arriving[lane], held[lane])
            m.d.comb += self.window[lane].eq(self.turned(word))
        # If none is held, a beat at the input may be loaded that is not accepted.
        with m.If(~holds | (self.move & ((passed != 0) | self.fresh))):
            m.d.sync += held.eq(self.arriving)
        with m.If(self.move):
            m.d.sync += [offset.eq(target), holds.eq(self._holds_after(holds, passed))]
        with m.Elif(~holds):
            m.d.sync += holds.eq(self.accept)
        with m.If(self.forget):
            m.d.sync += holds.eq(0)
        select = self._turn_header if self.header_words > _MOST_SELECTED else self._select_header
        select(m, held, holds)
        return m

    def _holds_after(self, holds: Signal, passed: Signal) -> Value:
        """Whether a beat is held after a move."""
        in_input = Mux(holds & ~self.fresh, passed == 1, passed == 0)
        return (holds & ~self.fresh & (passed == 0)) | (self.accept & in_input)

    def _select_header(self, m: Module, held: data.View, holds: Signal) -> None:
        """Selects each word of the header by its beat and lane, in one step."""
        lane = Signal(self.lanes)
        m.d.sync += lane.eq(self.next_lane)
        #: The lanes from the position on are in the held beat; those below it are always at the input.
        from_held = Signal()
        m.d.comb += from_held.eq(holds & (self.position[exact_log2(self.lanes) :] == 0))
        for word in range(self.header_words):
            cases = []
            for number in range(self.lanes):
                found, first = lane[number - word] & ~self.fresh, self.fresh & (number == word)
                in_held = found & from_held if number >= word else C(0)
                cases += [(in_held, held[number]), ((found & ~in_held) | first, self.arriving[number])]
            m.d.comb += self.header[word].eq(one_of(*cases))

    def _turn_header(self, m: Module, held: data.View, holds: Signal) -> None:
        """Selects the ``lanes`` words from the position on, each in its lane, and rotates the first of them to lane 0."""
        levels = exact_log2(self.lanes)
        first = Signal(range(self.lanes))
        from_held = Signal(self.lanes)
        in_beat_0 = holds & ~self.fresh & (self.position[levels:] == 0)
        m.d.comb += [
            first.eq(Mux(self.fresh, 0, self.position[:levels])),
            # Lanes below the position are those of the next beat.
            from_held.eq(Mux(in_beat_0, ~thermometer(first, self.lanes), 0)),
        ]
        words = [Mux(from_held[lane], held[lane], self.arriving[lane]) for lane in range(self.lanes)]
        turned = _turned_down(m, words, first)
        m.d.comb += [self.header[word].eq(turned[word]) for word in range(self.header_words)]
