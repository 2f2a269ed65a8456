"""Moves the words of a packet's pieces to other lanes, and joins those that share a beat."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .beats import Beat
from .gates import one_of, rotate_up, thermometer

__all__ = ["Piece", "Repack"]


class Piece(data.StructLayout):
    """A beat of a piece, whose words are in lanes that follow one another.

    ``shift``
        Lanes by which the words go up, cyclically: the same in all beats of a piece. The piece begins where the words before
        it end, or, where these are closed, anywhere.
    ``wraps``
        In the first beat of a piece: all of its words go past the last lane, and yet into the beat that is being filled.
    ``closes``
        The words of this beat are the last ones of theirs: those of the next piece go into another one. With ``last``, too.
    """

    def __init__(self, word_bits: int, lanes: int) -> None:
        super().__init__(
            {"beat": Beat(word_bits, lanes), "shift": exact_log2(lanes), "wraps": 1, "closes": 1}
        )


class Repack(wiring.Component):
    """Gives beats that are filled up to the last lane, or closed.

    ``input``
        Packets of pieces. An empty beat that closes adds nothing.
    ``output``
        The packets. Lanes that are not kept are 0.

    Throughput: a beat per cycle in, and one cycle more where a beat closes whose words go into two.
    Latency: one cycle. ``ready`` of the input does not depend on its payload.
    """

    def __init__(self, word_bits: int, lanes: int) -> None:
        self.word_bits = word_bits
        self.lanes = lanes
        super().__init__(
            {
                "input": In(stream.Signature(Piece(word_bits, lanes))),
                "output": Out(stream.Signature(Beat(word_bits, lanes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        piece, beat, out = self.input.payload, self.input.payload.beat, Signal(self.output.payload.shape())
        words = rotate_up([Cat(beat.keep[lane], beat.data[lane]) for lane in range(self.lanes)], piece.shift)
        # Words that wait for the rest of their beat. None of them is in the last lane.
        held = Signal(self.lanes - 1)
        held_data = [
            Signal(self.word_bits, name=f"held_{lane}", reset_less=True) for lane in range(self.lanes - 1)
        ]
        #: Only the words held are left of what is closed, and of the packet.
        rest = Signal()
        ends = Signal()
        below = Signal(self.lanes)
        full = Signal()
        gives = Signal()
        spills = Signal()
        able = Signal()
        there = Signal()
        m.d.comb += [
            able.eq(~self.output.valid | self.output.ready),
            there.eq(rest | self.input.valid),
            # Lanes below the shift belong to the next beat, unless they are wrapped to this one.
            below.eq(thermometer(piece.shift, self.lanes) & ~piece.wraps.replicate(self.lanes)),
            full.eq(words[-1][0]),
            gives.eq(rest | full | piece.closes),
            spills.eq(piece.closes & below[0] & words[0][0]),
            self.input.ready.eq(able & ~rest),
            out.last.eq((rest & ends) | (~rest & beat.last & ~spills)),
        ]
        with m.If(able):
            m.d.sync += [self.output.valid.eq(there & gives), self.output.payload.eq(out)]
        with m.If(able & there):
            m.d.sync += [rest.eq(spills & ~rest), ends.eq(beat.last)]
        for lane, word in enumerate(words[:-1]):
            shown = one_of(
                (held[lane], Cat(held[lane], held_data[lane])), (~below[lane] & ~rest & word[0], word)
            )
            m.d.comb += Cat(out.keep[lane], out.data[lane]).eq(shown)
            stays = (word[0] & below[lane] & ~rest) | (~gives & (held[lane] | word[0]))
            with m.If(able & there):
                m.d.sync += held[lane].eq(stays)
                with m.If(word[0] & ~rest):
                    m.d.sync += held_data[lane].eq(word[1:])
        m.d.comb += Cat(out.keep[-1], out.data[-1]).eq(Mux(full & ~rest, words[-1], 0))
        return m
