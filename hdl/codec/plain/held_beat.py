"""The words that a small decompressor has: a beat that it holds, and the beat at the input."""

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import one_of, thermometer

from .long_header import MOST_SELECTED, turned_down
from .word_rows import window_members

__all__ = ["HeldBeat"]


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
