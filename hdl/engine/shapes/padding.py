"""Puts padding into packets, and takes it out again."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import thermometer
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.blocks.width import Piece
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format

from .segments import Segment

#: Segments that wait.
_SEGMENTS = 2


class _Current:
    """The segment in hand, as signals of one module.

    ``busy``: High while there is one.
    ``over``: Drive: it ends in this cycle.
    ``first``, ``final``, ``shift``, ``wraps``: Those of a :class:`.Segment` of which rows are ``amid`` beats: ``first``
        and ``wraps`` are 0 after its first beat.
    """

    def __init__(self, m: Module, segments: stream.Interface, lanes: int, *, amid: bool) -> None:
        m.submodules.waiting = waiting = Fifo(segments.payload.shape(), _SEGMENTS)
        wiring.connect(m, wiring.flipped(segments), waiting.input)
        self.busy = Signal(name="busy")
        self.over = Signal(name="over")
        self.whole = Signal(name="whole")
        self.padding = Signal(name="padding")
        self.last = Signal(name="last")
        self.frequent = Signal(name="frequent")
        self.left = Signal(segments.payload.beats.shape(), name="left")
        self.none_left = Signal(name="none_left")
        self.lanes = lanes
        self.amid = amid
        if amid:
            self.first, self.final, self.shift = (
                Signal(exact_log2(lanes), name=name) for name in ("first", "final", "shift")
            )
            self.wraps = Signal(name="wraps")
        self._waiting = waiting.output
        m.d.comb += waiting.output.ready.eq(~self.busy | self.over)

    @property
    def ends(self) -> Value:
        """It is known to end with this beat."""
        return self.none_left & ~self.whole

    @property
    def beyond(self) -> Value:
        """The lanes behind its last word, in the beat with which it ends."""
        return Mux(self.ends, Cat(self.final < lane for lane in range(self.lanes)), 0)

    @property
    def here(self) -> Value:
        """The lanes that it has in this beat."""
        return ~thermometer(self.first, self.lanes) & ~self.beyond

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
            if self.amid:
                m.d.sync += [
                    getattr(self, name).eq(following[name]) for name in ("first", "final", "shift", "wraps")
                ]
        with m.Elif(counts):
            m.d.sync += [self.left.eq(self.left - 1), self.none_left.eq(self.left == 1)]
            if self.amid:
                m.d.sync += [self.first.eq(0), self.wraps.eq(0)]


def _members(word_bits: int, lanes: int, amid: bool) -> dict[str, wiring.Member]:
    """The streams of what follows."""
    beat = Beat(word_bits, lanes)
    return {
        "segments": In(
            stream.Signature(Segment(exact_log2(word_bits * lanes // 8), exact_log2(lanes) if amid else 0))
        ),
        "input": In(stream.Signature(beat)),
        "output": Out(stream.Signature(Piece(word_bits, lanes) if amid else beat)),
    }


def frequent_fill(config: EngineConfig, values: data.View) -> Value:
    """The most frequent value of a table as a word of padding, where words have a table of their own; otherwise 0."""
    form, words = config.format, config.format.moved_bits
    if not isinstance(form, Format) or form.field_bits or form.zero or not config.codec.table_size:
        return C(0, words)
    return values[0].replicate(words // form.word_bits)


class Filler(wiring.Component):
    """Puts padding between the beats of what is read: a beat per cycle.

    ``amid``: Rows begin and end amid beats: so they come, in the lanes of memory, and go on as pieces.
    ``fill``: What is repeated in padding that is not 0.
    """

    def __init__(
        self, word_bits: int, lanes: int, *, amid: bool = False, fill_bits: int | None = None
    ) -> None:
        self.lanes = lanes
        self.amid = amid
        super().__init__(_members(word_bits, lanes, amid) | {"fill": In(fill_bits or word_bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        current = _Current(m, self.segments, self.lanes, amid=self.amid)
        source, sink = self.input, self.output
        passes = Signal()
        beat = sink.payload.beat if self.amid else sink.payload
        data = beat.data.as_value()
        m.d.comb += [
            beat.eq(source.payload),
            sink.valid.eq(current.busy & (current.padding | source.valid)),
            source.ready.eq(current.busy & ~current.padding & sink.ready),
            passes.eq(sink.valid & sink.ready),
            current.over.eq(passes & Mux(current.whole, source.payload.last, current.none_left)),
        ]
        with m.If(current.padding):
            m.d.comb += [
                data.eq(Mux(current.frequent, self.fill.replicate(len(data) // len(self.fill)), 0)),
                beat.keep.eq((1 << self.lanes) - 1),
            ]
        with m.If(~current.whole):
            m.d.comb += beat.last.eq(current.last & current.none_left)
        if self.amid:
            kept = source.payload.keep | current.padding.replicate(self.lanes)
            m.d.comb += [
                beat.keep.eq(kept & current.here),
                sink.payload.shift.eq(current.shift),
                sink.payload.wraps.eq(current.wraps),
                sink.payload.closes.eq(beat.last),
            ]
        current.follow(m, passes)
        return m


class Dropper(wiring.Component):
    """Takes padding out of what is to be written: a beat per cycle.

    A packet that ends early, or in padding, ends with an empty last beat or with what came of its last row. It has no words
    behind the last segment.

    ``amid``: Rows begin and end amid beats: they go on as pieces, of which each row in memory is one. A beat takes a
        cycle for each row and each padding that has a part of it.
    """

    def __init__(self, word_bits: int, lanes: int, *, amid: bool = False) -> None:
        self.lanes = lanes
        self.amid = amid
        super().__init__(_members(word_bits, lanes, amid))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        current = _Current(m, self.segments, self.lanes, amid=self.amid)
        source, sink = self.input, self.output
        beat = sink.payload.beat if self.amid else sink.payload
        drops = Signal()
        passes = Signal()
        #: The packet has ended, and its segments have not.
        skips = Signal()
        taken = Signal()
        ended = Signal()
        #: The packet has ended in padding, and its end is still to be given: those who take it may wait for a row that comes
        #: when the padding has been passed over.
        owes = Signal()
        m.d.comb += [
            passes.eq(current.busy & ~skips & ~owes),
            drops.eq(current.padding),
            beat.eq(source.payload),
            sink.valid.eq(owes | (passes & source.valid & ~drops)),
            source.ready.eq(passes & (sink.ready | drops)),
            taken.eq(source.valid & source.ready),
            ended.eq(taken & source.payload.last),
            current.over.eq(ended | (skips & current.busy) | (taken & current.none_left & ~current.last)),
        ]
        if self.amid:
            #: What is left of the beat belongs to the next segment.
            stays = current.ends & ~current.last & (source.payload.keep & current.beyond).any()
            last = source.payload.last & ~stays
            m.d.comb += [
                source.ready.eq(passes & (sink.ready | drops) & ~stays),
                taken.eq(source.valid & passes & (sink.ready | drops)),
                ended.eq(taken & last),
                beat.keep.eq(source.payload.keep & current.here),
                beat.last.eq(last),
                sink.payload.shift.eq(current.shift),
                sink.payload.wraps.eq(current.wraps),
                sink.payload.closes.eq(current.ends | beat.last),
            ]
        with m.If(owes):
            m.d.comb += [beat.keep.eq(0), beat.last.eq(1)]
            m.d.sync += owes.eq(~sink.ready)
        with m.If(ended & drops):
            m.d.sync += owes.eq(1)
        with m.If(current.over & current.last):
            m.d.sync += skips.eq(0)
        with m.Elif(ended):
            m.d.sync += skips.eq(1)
        current.follow(m, taken)
        return m
