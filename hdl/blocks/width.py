"""Beats repacked, narrowed and widened."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .arithmetic import one_of, rotate_up, thermometer
from .registers import Beat, BeatSlice, slice_after


class Piece(data.StructLayout):
    """A beat of a piece, whose words are in lanes that follow one another.

    ``shift``: Lanes by which the words go up, cyclically: the same in all beats of a piece. The piece begins after the
        words before it, or, if their beat is closed, anywhere.
    ``wraps``: In the first beat of a piece: all of its words go past the last lane, but into the beat that is being
        filled.
    ``closes``: Closes the output beat after the words of this one; high with ``last``, too.
    """

    def __init__(self, word_bits: int, lanes: int) -> None:
        super().__init__(
            {"beat": Beat(word_bits, lanes), "shift": exact_log2(lanes), "wraps": 1, "closes": 1}
        )


class Repack(wiring.Component):
    """Packs pieces into beats that are filled up to the last lane, or closed.

    ``input``: Packets of pieces. An empty beat that closes adds nothing.
    ``output``: The packets. Lanes that are not kept are 0.

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
        # Words of a beat that is not complete. None of them is in the last lane.
        held = Signal(self.lanes - 1)
        held_data = [
            Signal(self.word_bits, name=f"held_{lane}", reset_less=True) for lane in range(self.lanes - 1)
        ]
        #: Only the words held are left of the beat that closes, and of the packet.
        rest = Signal()
        ends = Signal()
        below = Signal(self.lanes)
        full = Signal()
        puts_out = Signal()
        spills = Signal()
        able = Signal()
        present = Signal()
        m.d.comb += [
            able.eq(~self.output.valid | self.output.ready),
            present.eq(rest | self.input.valid),
            # Lanes below the shift belong to the next beat, unless they are wrapped to this one.
            below.eq(thermometer(piece.shift, self.lanes) & ~piece.wraps.replicate(self.lanes)),
            full.eq(words[-1][0]),
            puts_out.eq(rest | full | piece.closes),
            spills.eq(piece.closes & below[0] & words[0][0]),
            self.input.ready.eq(able & ~rest),
            out.last.eq((rest & ends) | (~rest & beat.last & ~spills)),
        ]
        with m.If(able):
            m.d.sync += [self.output.valid.eq(present & puts_out), self.output.payload.eq(out)]
        with m.If(able & present):
            m.d.sync += [rest.eq(spills & ~rest), ends.eq(beat.last)]
        for lane, word in enumerate(words[:-1]):
            shown = one_of(
                (held[lane], Cat(held[lane], held_data[lane])), (~below[lane] & ~rest & word[0], word)
            )
            m.d.comb += Cat(out.keep[lane], out.data[lane]).eq(shown)
            stays = (word[0] & below[lane] & ~rest) | (~puts_out & (held[lane] | word[0]))
            with m.If(able & present):
                m.d.sync += held[lane].eq(stays)
                with m.If(word[0] & ~rest):
                    m.d.sync += held_data[lane].eq(word[1:])
        m.d.comb += Cat(out.keep[-1], out.data[-1]).eq(Mux(full & ~rest, words[-1], 0))
        return m


def _members(word_bits: int, lanes_in: int, lanes_out: int) -> dict[str, wiring.Member]:
    """The ports of both adapters."""
    return {
        "input": In(stream.Signature(Beat(word_bits, lanes_in))),
        "output": Out(stream.Signature(Beat(word_bits, lanes_out))),
    }


class Widen(wiring.Component):
    """Gathers beats of ``lanes_in`` words into beats of ``lanes_out``.

    Throughput: one narrow beat per cycle. Latency: a wide beat is offered in the cycle after its last part or the last
    beat of the packet. An empty last beat ends the packet, after the words gathered so far or as an empty beat.
    """

    def __init__(self, word_bits: int, lanes_in: int, lanes_out: int) -> None:
        self.word_bits = word_bits
        self.lanes_in = lanes_in
        self.parts = lanes_out // lanes_in
        super().__init__(_members(word_bits, lanes_in, lanes_out))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part = Signal(range(self.parts))
        beat, wide = self.input.payload, self.output.payload
        complete = Signal()
        m.d.comb += [
            complete.eq(beat.last | (part == self.parts - 1)),
            self.input.ready.eq(~self.output.valid | self.output.ready),
        ]
        with m.If(self.input.ready):
            m.d.sync += self.output.valid.eq(self.input.valid & complete)
        with m.If(self.input.valid & self.input.ready):
            m.d.sync += [part.eq(Mux(complete, 0, part + 1)), wide.last.eq(beat.last)]
            for number in range(self.parts):
                lanes = slice(number * self.lanes_in, (number + 1) * self.lanes_in)
                with m.If(part == number):
                    m.d.sync += Cat(wide.data[lane] for lane in range(lanes.start, lanes.stop)).eq(beat.data)
                    m.d.sync += wide.keep[lanes].eq(beat.keep)
                with m.Elif(part == 0):
                    m.d.sync += wide.keep[lanes].eq(0)
        return m


class Narrow(wiring.Component):
    """Cuts beats of ``lanes_in`` words into beats of ``lanes_out``.

    Throughput: one narrow beat per cycle. Latency: none. Parts without words are dropped; an empty last beat remains one.
    """

    def __init__(self, word_bits: int, lanes_in: int, lanes_out: int) -> None:
        self.word_bits = word_bits
        self.lanes_out = lanes_out
        self.parts = lanes_in // lanes_out
        super().__init__(_members(word_bits, lanes_in, lanes_out))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part = Signal(range(self.parts))
        wide, beat = self.input.payload, self.output.payload
        #: No word comes after the present part.
        final = Signal(init=1)
        with m.Switch(part):
            for number in range(self.parts - 1):
                with m.Case(number):
                    m.d.comb += final.eq(~wide.keep[(number + 1) * self.lanes_out])
        m.d.comb += [
            self.output.valid.eq(self.input.valid),
            self.input.ready.eq(self.output.ready & final),
            beat.last.eq(wide.last & final),
        ]
        with m.Switch(part):
            for number in range(self.parts):
                lanes = slice(number * self.lanes_out, (number + 1) * self.lanes_out)
                with m.Case(number):
                    m.d.comb += beat.keep.eq(wide.keep[lanes])
                    m.d.comb += beat.data.eq(Cat(wide.data[lane] for lane in range(lanes.start, lanes.stop)))
        with m.If(self.output.valid & self.output.ready):
            m.d.sync += part.eq(Mux(final, 0, part + 1))
        return m


def connect_width(
    m: Module,
    name: str,
    word_bits: int,
    source: stream.Interface,
    sink: stream.Interface,
    *,
    pipelined: bool = False,
) -> None:
    """Connects two streams of beats of the same words, through an adapter if their lanes differ.

    If ``pipelined``, ``valid``, ``keep`` and ``last`` of ``sink`` come from registers, of a :class:`Widen` or of a
    :class:`.BeatSlice`.
    """
    lanes_in, lanes_out = len(source.payload.keep), len(sink.payload.keep)
    if lanes_in != lanes_out:
        kind = Widen if lanes_in < lanes_out else Narrow
        m.submodules[name] = adapter = kind(word_bits, lanes_in, lanes_out)
        wiring.connect(m, source, adapter.input)
        source = adapter.output
    sliced = pipelined and lanes_in >= lanes_out
    source = slice_after(m, f"{name}_slice", source, kind=BeatSlice, when=sliced)
    wiring.connect(m, source, sink)
