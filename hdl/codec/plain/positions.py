"""The words that a small decompressor has: a beat that it holds, and the beat at the input. Where a decompressor is in
the words that it has: the next word to plan, and the next header.
"""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import one_of, thermometer

from .compressor import MOST_SELECTED, turned_down
from .word_rows import window_members

__all__ = ["HeaderPositions", "HeadersAhead", "HeldBeat"]


class HeldBeat(wiring.Component):
    """A window of ``lanes`` words, of which the first are in a register, and the others still at the input.

    Beat 0 is the beat that is held or, if none is, the beat at the input. Words keep their lanes: the window has the lanes
    of beat 0 from some lane on, and the lanes of the beat at the input below.

    The ports are those of :class:`~cdma.hdl.codec.plain.word_rows.WordRows`, with these differences:

    ``arrives``
        Says that the beat at the input belongs to the packet. While it does, it stays there until it is accepted.
    ``stored``, ``visible``
        Number of beats that are held, 0 or 1; and the same with the beat at the input.
    ``takes``
        Says that the beat at the input, if it is of the packet, must be accepted: the window has moved past the held one.
    """

    def __init__(
        self,
        word_bits: int,
        lanes: int,
        header_words: int,
        *,
        inverted: bool = False,
        padded: bool = False,
    ) -> None:
        self.lanes = lanes
        self.inverted = inverted
        self.padded = padded
        self.header_words = header_words
        members = window_members(word_bits, lanes, header_words, stored=1, visible=2, padded=padded)
        super().__init__({**members, "arrives": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        levels = exact_log2(self.lanes)
        held = Signal.like(self.window, reset_less=True)
        holds = Signal()
        #: Lane of beat 0 in which the window begins.
        offset = Signal(range(self.lanes))
        #: Where the window goes if it moves, and how many beats it leaves behind then.
        target = Signal(range(3 * self.lanes + 1))
        passed = Signal(2)
        below = Signal(self.lanes)
        m.d.comb += [
            target.eq(Mux(self.fresh, 0, self.position) + Mux(self.fresh | self.read, self.header_words, 0)),
            passed.eq(target >> levels),
            below.eq(thermometer(offset, self.lanes) | (~holds).replicate(self.lanes)),
            self.stored.eq(holds),
            self.visible.eq(holds + self.arrives),
            self.takes.eq(~holds | (self.move & ((passed != 0) | self.fresh))),
        ]
        if self.padded:
            m.d.comb += [self.offset.eq(offset), self.following.eq(self.arriving)]
        for lane in range(self.lanes):
            word = Mux(below[lane], self.arriving[lane], held[lane])
            m.d.comb += self.window[lane].eq(~word if self.inverted else word)
        # A beat at the input that is not taken may be loaded, too, if none is held.
        with m.If(~holds | (self.move & ((passed != 0) | self.fresh))):
            m.d.sync += held.eq(self.arriving)
        with m.If(self.move):
            m.d.sync += [offset.eq(target), holds.eq(self._holds_after(holds, passed))]
        with m.Elif(~holds):
            m.d.sync += holds.eq(self.accept)
        with m.If(self.forget):
            m.d.sync += holds.eq(0)
        select = self._turn_header if self.header_words > MOST_SELECTED else self._select_header
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
        there = Signal()
        m.d.comb += there.eq(holds & (self.position[exact_log2(self.lanes) :] == 0))
        for word in range(self.header_words):
            cases = []
            for number in range(self.lanes):
                here, first = lane[number - word] & ~self.fresh, self.fresh & (number == word)
                in_held = here & there if number >= word else C(0)
                cases += [(in_held, held[number]), ((here & ~in_held) | first, self.arriving[number])]
            m.d.comb += self.header[word].eq(one_of(*cases))

    def _turn_header(self, m: Module, held: data.View, holds: Signal) -> None:
        """Selects the ``lanes`` words from the position on, each in its lane, and turns the first of them to lane 0."""
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
        turned = turned_down(m, words, first)
        m.d.comb += [self.header[word].eq(turned[word]) for word in range(self.header_words)]


class HeaderPositions(wiring.Component):
    """Follows the words of a packet, if each header is read in the cycle in which the beat after it is planned.

    Positions are counted from lane 0 of the oldest beat in the rows. Whether that changes is known late, so only the
    selection of the next ones depends on ``moves``.

    ``moves``
        The planned beat leaves, or there is none.
    ``fresh``, ``wants_header``
        Says that the next beat is the first of its packet; that it begins with a header, or with a part of one.
    ``there``
        Says that this has arrived.
    ``whole``
        Says that with it the next beat can be planned.
    ``end``, ``window_end``
        Position after the next beat; and the same, where a header may follow.
    ``position``
        The next word to plan.
    ``offset``, ``rest_offset``
        The lane of the next beat's first literal; and the same for a beat without a header.
    ``read``
        Skips the header.
    ``next_lane``, ``next_beat``
        The position after this cycle if a header follows: its lane, one bit each, and its beat.
    """

    def __init__(self, lanes: int, header_words: int, *, padded: bool) -> None:
        self.lanes = lanes
        self.header_words = header_words
        position = range(2 * lanes + padded)
        super().__init__(
            {
                "moves": In(1),
                "fresh": In(1, init=1),
                "wants_header": In(1),
                "there": In(1),
                "whole": In(1),
                "end": In(position),
                "window_end": In(position),
                "position": Out(position),
                "offset": Out(range(lanes)),
                "rest_offset": Out(range(lanes)),
                "read": Out(1),
                "next_lane": Out(lanes, init=1),
                "next_beat": Out(range(2 + padded)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        levels = exact_log2(self.lanes)
        position = Signal.like(self.position)
        #: The lane of the next header, one bit each, while that is the next to plan.
        lane = Signal(self.lanes, init=1)
        reads = Signal()
        advances = Signal()
        after_header = Signal.like(position)
        m.d.comb += [
            self.position.eq(position),
            after_header.eq(Mux(self.fresh, 0, position) + self.header_words),
            self.offset.eq(Mux(self.wants_header, after_header, position)),
            self.rest_offset.eq(position),
            reads.eq(self.wants_header & self.there),
            # Whether a header of one word has arrived is known too late for the window, and makes no difference to it.
            self.read.eq(self.wants_header if self.header_words == 1 else reads),
            advances.eq((~self.wants_header | reads) & self.whole),
        ]
        # The position is loaded even if nothing is planned. Then no packet is in flight, and the position is ignored, or
        # the header has not arrived, and the position stays.
        stays = ~self.moves
        goes_on = self.moves & advances
        skips = self.moves & ~advances & reads
        waits = self.moves & ~advances & ~reads
        next_header = Signal.like(position)

        def next_position(end: Value) -> Value:
            cases = ((stays, position), (goes_on, end), (skips, self.offset))
            return one_of(*cases, (waits, position[:levels]))

        m.d.comb += [
            next_header.eq(next_position(self.window_end)),
            self.next_lane.eq(
                one_of(
                    (stays | waits, lane),
                    (goes_on, self._lane_of(self.window_end)),
                    (skips, self._lane_of(self.offset)),
                )
            ),
            self.next_beat.eq(next_header >> levels),
        ]
        m.d.sync += [lane.eq(self.next_lane), position.eq(next_position(self.end))]
        return m

    def _lane_of(self, position: Value) -> Value:
        """The lane of a position, one bit each."""
        return Cat(position[: exact_log2(self.lanes)] == lane for lane in range(self.lanes))


class HeadersAhead(wiring.Component):
    """Follows the words of a packet, if each header is read before the last beat of the window before it has left.

    The ports are those of :class:`HeaderPositions`, with these differences:

    ``holds``
        Says that the codes of the next beat have been read. Otherwise it waits for its header.
    ``base``
        Where the literals of the next beat begin, counted from the beat that is the oldest after this cycle.
    ``next_header``
        Where the next header begins, counted in the same way, while ``holds`` and not more than two beats are before it.
    ``head``
        The next header, a cycle later.
    """

    def __init__(self, lanes: int, header_words: int, *, padded: bool) -> None:
        self.lanes = lanes
        self.header_words = header_words
        position = range(2 * lanes + padded)
        super().__init__(
            {
                "moves": In(1),
                "fresh": In(1, init=1),
                "wants_header": In(1),
                "holds": In(1),
                "end": In(position),
                "next_header": In(range(8 * lanes)),
                "position": Out(position),
                "base": Out(range(4 * lanes)),
                "read": Out(1),
                "head": Out(range(8 * lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        levels = exact_log2(self.lanes)
        position = Signal.like(self.position)
        head = Signal.like(self.head)
        #: Where the next beat begins after its header.
        start = Signal(range(3 * self.lanes))
        stays = ~self.moves
        plans, waits = self.moves & self.holds, self.moves & ~self.holds & ~self.fresh
        m.d.comb += [
            self.position.eq(position),
            self.head.eq(head),
            self.read.eq(self.wants_header & self.holds),
            start.eq(position + Mux(self.wants_header, self.header_words, 0)),
            self.base.eq(Cat(start[:levels], Mux(stays, start[levels:], 0))),
        ]
        m.d.sync += [
            position.eq(one_of((stays, position), (plans, self.end), (waits, position[:levels]))),
            head.eq(Mux(self.holds, self.next_header, Cat(head[:levels], Mux(stays, head[levels:], 0)))),
        ]
        return m
