"""A shape as Amaranth layouts; what the fields mean stands in :mod:`~cdma.hdl.spec.records`. Joins rows that touch
into runs, so that bursts are long. Tells padding and data apart in the beats of a packet.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import SPAN_BITS
from cdma.hdl.blocks.arithmetic import is_next
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.spec.records import SHAPE_RECORD
from cdma.hdl.spec.shape import MARGIN_BITS, RUN_BITS

#: 64 bytes, as they lie in memory.
ShapeLayout = data.StructLayout({field.name: field.bits for field in SHAPE_RECORD})

#: A shape that is to be walked: ``first`` is the lower part of the address of its first row, and ``frequent`` says that
#: padding is the most frequent value, and not 0.
WalkLayout = data.StructLayout({"first": SPAN_BITS, "extension": ShapeLayout, "frequent": 1})

#: What the checker must know of a shape.
#:
#: ``shaped``
#:     The descriptor has one; all else counts only then.
#: ``reserved``, ``wrong``
#:     The extension has something where no field is; it is no shape, or one that the engine refuses.
#: ``lowest``, ``beneath``
#:     The address of its lowest byte; that would be below 0.
#: ``span``, ``moved``
#:     Bytes from the lowest to the highest one; those among them that are moved, of a shape that is read.
Measured = data.StructLayout(
    {
        "shaped": 1,
        "reserved": 1,
        "wrong": 1,
        "lowest": 64,
        "beneath": 1,
        "span": SPAN_BITS,
        "moved": SPAN_BITS,
    }
)


#: The lower parts of the addresses of a run's first and last byte, and whether more runs of the shape follow.
Run = data.StructLayout({"first": SPAN_BITS, "last": SPAN_BITS, "more": 1})


class Runs(wiring.Component):
    """Takes the rows of a shape that are in memory, and gives runs: a row is held until the next one says whether it
    touches.

    Throughput: a row per cycle.

    ``most``
        The most rows of a run: a power of two. All of them must fit into the queue of rows, because no data move before the
        run is given.
    ``first``
        The lower part of a row's address, and with it ``ends``, that it is the shape's last one.
    ``size``
        Bytes of a row, less one.
    ``breaks``
        While high, the run that is held ends: padding follows, behind which no row may have to wait.
    """

    def __init__(self, beat_log2: int, most: int) -> None:
        self.beat_log2 = beat_log2
        self.most = most
        super().__init__(
            {
                "rows": In(stream.Signature(data.StructLayout({"first": SPAN_BITS, "ends": 1}))),
                "size": In(SPAN_BITS),
                "breaks": In(1),
                "output": Out(stream.Signature(Run)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row, run = self.rows.payload, self.output.payload
        held = Signal()
        ended = Signal()
        broken = Signal()
        touches = Signal()
        last = Signal(SPAN_BITS)
        #: Rows of the run but the first one.
        joined = Signal(range(self.most), reset_less=True)
        beats = slice(self.beat_log2, None)
        m.d.comb += [
            last.eq(row.first + self.size),
            touches.eq(held & ~ended & ~broken & ~self.breaks & is_next(run.last[beats], row.first[beats])),
            # What is held goes when it is known that nothing is joined to it.
            self.output.valid.eq(held & (ended | broken | (self.rows.valid & ~touches))),
            run.more.eq(~ended),
            # A row that touches needs no room at the output, but that is known too late for ready.
            self.rows.ready.eq(~held | self.output.ready),
        ]
        with m.If(self.rows.valid & self.rows.ready):
            m.d.sync += [
                held.eq(1),
                run.first.eq(Mux(touches, run.first, row.first)),
                run.last.eq(last),
                ended.eq(row.ends),
                joined.eq(Mux(touches, joined + 1, 0)),
                broken.eq(touches & (joined == self.most - 2)),
            ]
        with m.Else():
            with m.If(self.output.valid & self.output.ready):
                m.d.sync += held.eq(0)
            with m.If(self.breaks):
                m.d.sync += broken.eq(1)
        return m


#: Bytes of the rows of a shape: a run, and the margins before and after it; and whether padding is the most frequent value.
Frame = data.StructLayout({"before": MARGIN_BITS, "run": RUN_BITS, "after": MARGIN_BITS, "frequent": 1})


class Mark(data.StructLayout):
    """A row of the stream, or all of a packet.

    ``whole``
        A packet of a descriptor without a shape.
    ``inside``, ``final``
        The row is in memory; it is the last one of its shape.
    ``lane``
        Where rows begin with any of 2**``lane_bits`` lanes: the first one, in memory.
    """

    def __init__(self, lane_bits: int = 0) -> None:
        super().__init__(
            {"whole": 1, "inside": 1, "final": 1, **optional(lane_bits, lane=lane_bits)},
        )


class Segment(data.StructLayout):
    """Beats that follow one another: of padding or not, their number less one, and whether the packet ends with them. Those
    of a ``whole`` packet end where it ends. ``beat_log2`` are the bits of an address below the beat.

    Where rows begin with any lane:

    ``first``, ``final``
        The lane of its first word, in its first beat, and that of its last one.
    ``shift``, ``wraps``
        Those of a :class:`.Piece`: from the lanes in which it comes to those in which it goes on.
    """

    def __init__(self, beat_log2: int, lane_bits: int = 0) -> None:
        lanes = {"first": lane_bits, "final": lane_bits, "shift": lane_bits, "wraps": 1}
        super().__init__(
            {
                "whole": 1,
                "padding": 1,
                "last": 1,
                "beats": SPAN_BITS - beat_log2,
                "frequent": 1,
                **(lanes if lane_bits else {}),
            }
        )


class Segments(wiring.Component):
    """Cuts each row into margins and run: a segment per cycle.

    ``beat_log2``, ``lane_bits``
        Bits of an address below the beat, and of the lane with which rows begin, if that is any.
    ``reads``
        Rows come in the lanes of memory, and go on in those of the stream; otherwise the other way round. Padding is in
        those of the stream always.
    ``marks``
        The rows, in the order of the stream.
    ``frames``
        One for each shape: it is taken with the shape's last row.
    """

    def __init__(self, beat_log2: int, lane_bits: int = 0, *, reads: bool = True) -> None:
        self.beat_log2 = beat_log2
        self.lane_bits = lane_bits
        self.reads = reads
        super().__init__(
            {
                "marks": In(stream.Signature(Mark(lane_bits))),
                "frames": In(stream.Signature(Frame)),
                "output": Out(stream.Signature(Segment(beat_log2, lane_bits))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        mark, frame, segment = self.marks.payload, self.frames.payload, self.output.payload
        # The margin before, or the run, of this row has passed.
        behind = Signal(2)
        at_before = Signal()
        at_run = Signal()
        row_ends = Signal()
        padded = Signal()
        length = Signal(SPAN_BITS)
        # A row of padding is added up in the first two cycles of its shape.
        margins = Signal(MARGIN_BITS + 1, reset_less=True)
        row = Signal(SPAN_BITS, reset_less=True)
        added = Signal(2)
        m.d.sync += [
            margins.eq(frame.before + frame.after),
            row.eq(margins + frame.run),
            added.eq(Mux(self.frames.valid & ~self.frames.ready, Cat(1, added), 0)),
        ]
        m.d.comb += [
            padded.eq(~mark.whole & ~mark.inside),
            at_before.eq(mark.inside & (behind == 0) & (frame.before != 0)),
            at_run.eq(mark.inside & ~at_before & ~behind[1]),
            row_ends.eq(mark.whole | padded | behind[1] | (at_run & (frame.after == 0))),
            length.eq(
                Mux(
                    padded,
                    row,
                    Mux(at_before, frame.before, Mux(at_run, frame.run, frame.after)),
                )
            ),
            segment.whole.eq(mark.whole),
            segment.frequent.eq(frame.frequent),
            segment.padding.eq(~mark.whole & ~at_run),
            segment.last.eq(mark.whole | (row_ends & mark.final)),
            *([] if self.lane_bits else [segment.beats.eq((length >> self.beat_log2) - 1)]),
            self.output.valid.eq(
                self.marks.valid & (mark.whole | (self.frames.valid & (mark.inside | added[1])))
            ),
            self.marks.ready.eq(self.output.valid & self.output.ready & row_ends),
            self.frames.ready.eq(self.marks.ready & mark.final & ~mark.whole),
        ]
        with m.If(self.output.valid & self.output.ready):
            m.d.sync += behind.eq(Mux(row_ends, 0, Mux(at_before, 0b01, 0b10)))
        if self.lane_bits:
            self._place(m, length)
        return m

    def _place(self, m: Module, length: Value) -> None:
        """Finds the lanes of a segment of so many bytes, of which words before it have filled those of the stream."""
        mark, segment = self.marks.payload, self.output.payload
        at = Signal(self.lane_bits)
        words = length >> self.beat_log2 - self.lane_bits
        here, there = (mark.lane, at) if self.reads else (at, mark.lane)
        m.d.comb += [
            segment.first.eq(Mux(segment.padding, at, here)),
            Cat(segment.final, segment.beats).eq(words + segment.first - 1),
            Cat(segment.shift, segment.wraps).eq(Mux(segment.padding, 0, there - here)),
        ]
        with m.If(self.output.valid & self.output.ready):
            m.d.sync += at.eq(Mux(segment.last, 0, at + words))
