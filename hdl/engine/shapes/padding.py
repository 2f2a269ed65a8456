"""Puts padding into packets, and takes it out again."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.span import SPAN_BITS
from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.fifo import Fifo

from .segments import Segment

__all__ = ["Dropper", "Filler"]

#: Segments that wait.
_SEGMENTS = 2


class _Current:
    """The segment in hand, as signals of one module.

    ``busy``
        High while there is one.
    ``over``
        Drive: it ends in this cycle.
    """

    def __init__(self, m: Module, segments: stream.Interface) -> None:
        m.submodules.waiting = waiting = Fifo(Segment, _SEGMENTS)
        wiring.connect(m, wiring.flipped(segments), waiting.input)
        self.busy = Signal(name="busy")
        self.over = Signal(name="over")
        self.whole = Signal(name="whole")
        self.padding = Signal(name="padding")
        self.last = Signal(name="last")
        self.frequent = Signal(name="frequent")
        self.left = Signal(SPAN_BITS, name="left")
        self.none_left = Signal(name="none_left")
        self._waiting = waiting.output
        m.d.comb += waiting.output.ready.eq(~self.busy | self.over)

    def follow(self, m: Module, counts: Value) -> None:
        """Counts beats, and takes the next segment."""
        following = self._waiting.payload
        with m.If(~self.busy | self.over):
            m.d.sync += [
                self.busy.eq(self._waiting.valid),
                self.whole.eq(following.whole),
                self.padding.eq(following.padding),
                self.last.eq(following.last),
                self.frequent.eq(following.frequent),
                self.left.eq(following.beats),
                self.none_left.eq(following.beats == 0),
            ]
        with m.Elif(counts):
            m.d.sync += [self.left.eq(self.left - 1), self.none_left.eq(self.left == 1)]


class Filler(wiring.Component):
    """Puts padding between the beats of what is read: a beat per cycle.

    ``fill``
        What a word of padding is where it is not 0.
    """

    def __init__(self, word_bits: int, lanes: int) -> None:
        self.lanes = lanes
        super().__init__(
            {
                "segments": In(stream.Signature(Segment)),
                "input": In(stream.Signature(Beat(word_bits, lanes))),
                "output": Out(stream.Signature(Beat(word_bits, lanes))),
                "fill": In(word_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        current = _Current(m, self.segments)
        source, sink = self.input, self.output
        passes = Signal()
        m.d.comb += [
            sink.payload.eq(source.payload),
            sink.valid.eq(current.busy & (current.padding | source.valid)),
            source.ready.eq(current.busy & ~current.padding & sink.ready),
            passes.eq(sink.valid & sink.ready),
            current.over.eq(passes & Mux(current.whole, source.payload.last, current.none_left)),
        ]
        with m.If(current.padding):
            m.d.comb += [
                sink.payload.data.as_value().eq(Mux(current.frequent, self.fill.replicate(self.lanes), 0)),
                sink.payload.keep.eq((1 << self.lanes) - 1),
            ]
        with m.If(~current.whole):
            m.d.comb += sink.payload.last.eq(current.last & current.none_left)
        current.follow(m, passes)
        return m


class Dropper(wiring.Component):
    """Takes padding out of what is to be written: a beat per cycle.

    A packet that ends early, or in padding, ends with an empty last beat or with what came of its last row.
    """

    def __init__(self, word_bits: int, lanes: int) -> None:
        super().__init__(
            {
                "segments": In(stream.Signature(Segment)),
                "input": In(stream.Signature(Beat(word_bits, lanes))),
                "output": Out(stream.Signature(Beat(word_bits, lanes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        current = _Current(m, self.segments)
        source, sink = self.input, self.output
        drops = Signal()
        passes = Signal()
        #: The packet has ended, and its segments have not.
        skips = Signal()
        #: Nothing but the end of the packet is still to come.
        tail = Signal()
        taken = Signal()
        ended = Signal()
        #: The packet has ended in padding, and its end is still to be given: those who take it may wait for a row that comes
        #: when the padding has been passed over.
        owes = Signal()
        m.d.comb += [
            passes.eq(current.busy & ~skips & ~owes),
            drops.eq(current.padding),
            sink.payload.eq(source.payload),
            sink.valid.eq(owes | (passes & source.valid & ~drops)),
            source.ready.eq(passes & (sink.ready | drops)),
            taken.eq(source.valid & source.ready),
            ended.eq(taken & source.payload.last),
            current.over.eq(ended | (skips & current.busy) | (taken & current.none_left & ~current.last)),
        ]
        with m.If(owes):
            m.d.comb += [sink.payload.keep.eq(0), sink.payload.last.eq(1)]
            m.d.sync += owes.eq(~sink.ready)
        with m.If(ended & drops):
            m.d.sync += owes.eq(1)
        with m.If(current.over & current.last):
            m.d.sync += [skips.eq(0), tail.eq(0)]
        with m.Elif(ended):
            m.d.sync += skips.eq(1)
        # What comes behind the last row is the empty end of a stream with an error.
        with m.Elif(taken & current.none_left & current.last & ~current.whole):
            m.d.sync += tail.eq(1)
        with m.If(tail):
            m.d.comb += sink.payload.keep.eq(0)
        current.follow(m, taken)
        return m
