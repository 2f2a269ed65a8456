"""A shape as Amaranth layouts; what the fields mean stands in :mod:`~cdma.hdl.spec.records`. Joins rows that touch
into runs, so that bursts are long. Tells padding and data apart in the beats of a packet.
"""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import SPAN_BITS
from cdma.hdl.blocks.arithmetic import is_next
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.spec.records import SHAPE_RECORD

#: 64 bytes, as they lie in memory.
ShapeLayout = data.StructLayout({field.name: field.bits for field in SHAPE_RECORD})

#: Shapes whose rows may be in the queue.
SHAPES = 4

#: Rows of the numbers that a shape is walked by: bytes of a row, less one, and the lower part of the address of the first
#: one. A stride and an extent follow for each dimension.
SIZE, FIRST = range(2)
#: Rows of the lengths that segments have, less one: of a row in memory, of its margins, and of a row of padding.
RUN, BEFORE, AFTER, PADDED = range(4)


def stride_row(number: ValueLike) -> Value:
    """The row of the stride of a dimension, from 1 on: its lower part."""
    return Cat(C(0, 1), Value.cast(number))


def extent_row(number: ValueLike) -> Value:
    """The row of the extent of a dimension: entries, of which there is at least one, and padding before and after them."""
    return Cat(C(1, 1), Value.cast(number))


#: What rows of a shape have before them and after them, and whether padding is the most frequent value, and not 0.
Frame = data.StructLayout({"before": 1, "after": 1, "frequent": 1})


class WalkPort(wiring.Signature):
    """How a shape is handed to who walks it, seen from who measures it: number by number.

    ``room``: The next shape may be written.
    ``row``, ``value``: A number, and which one it is.
    ``walks``, ``cuts``: It is one that the shape is walked by; it is a length that segments have.
    ``push``, ``frame``: All numbers are written, the last one may be in this cycle: the shape is walked.
    """

    def __init__(self, dimensions: int) -> None:
        super().__init__(
            {
                "room": In(1),
                "row": Out(range(2 * dimensions + 2)),
                "value": Out(SPAN_BITS),
                "walks": Out(1),
                "cuts": Out(1),
                "push": Out(1),
                "frame": Out(Frame),
            }
        )


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


#: Runs that wait for the reader or the writer, so that the next shape is begun meanwhile.
RUNS = 8


class Runs(wiring.Component):
    """Takes the rows of a shape that are in memory, and gives runs. A run is in the queue from its first row on, and grows
    there until the next row says whether it touches.

    Throughput: a row per cycle.

    ``most``: The most rows of a run: a power of two. All of them must fit into the queue of rows, because no data move
        before the run is given.
    ``input``: Each row, as a run of its own.
    ``breaks``: While high, the run that grows ends: padding follows, behind which no row may have to wait.
    """

    def __init__(self, beat_log2: int, most: int) -> None:
        self.beat_log2 = beat_log2
        self.most = most
        super().__init__(
            {
                "input": In(stream.Signature(Run)),
                "breaks": In(1),
                "output": Out(stream.Signature(Run)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row, run, beats = self.input.payload, self.output.payload, slice(self.beat_log2, None)
        #: The run that grows: the last of its beats, whether it has the shape's last row, and whether none may be added.
        grows = Signal()
        edge = Signal(len(row.last[beats]), reset_less=True)
        ended = Signal()
        broken = Signal()
        #: Its rows but the first one.
        joined = Signal(range(self.most), reset_less=True)
        touches = Signal()
        leaves = Signal()
        taken = self.input.valid & self.input.ready
        m.d.comb += [
            touches.eq(grows & ~ended & ~broken & ~self.breaks & is_next(edge, row.first[beats])),
            leaves.eq(grows & Mux(taken, ~touches, ended | broken)),
        ]
        with m.If(taken):
            m.d.sync += [
                grows.eq(1),
                edge.eq(row.last[beats]),
                ended.eq(~row.more),
                joined.eq(Mux(touches, joined + 1, 0)),
                broken.eq(touches & (joined == self.most - 2)),
            ]
        with m.Else():
            with m.If(leaves):
                m.d.sync += grows.eq(0)
            with m.If(self.breaks):
                m.d.sync += broken.eq(1)
        half = SPAN_BITS + 1
        m.submodules.memory = memory = Memory(shape=2 * half, depth=RUNS, init=[])
        write, read = memory.write_port(granularity=half), memory.read_port(domain="sync")
        written = Signal(range(2 * RUNS))
        removed = Signal(range(2 * RUNS))
        there = written != removed
        m.d.comb += [
            # There is a place for a further run, beside that which grows.
            self.input.ready.eq((written - removed)[: len(written)] < RUNS - 1),
            write.addr.eq(written + (grows & ~touches)),
            write.data.eq(Cat(row.first, C(0, 1), row.last, row.more)),
            write.en.eq(Cat(taken & ~touches, taken)),
            read.addr.eq(removed),
            read.en.eq(there & (~self.output.valid | self.output.ready)),
            Cat(run.first, Signal(name="unused"), run.last, run.more).eq(read.data),
        ]
        m.d.sync += [written.eq(written + leaves), removed.eq(removed + read.en)]
        with m.If(read.en):
            m.d.sync += self.output.valid.eq(1)
        with m.Elif(self.output.ready):
            m.d.sync += self.output.valid.eq(0)
        return m


class Mark(data.StructLayout):
    """A row of the stream, or all of a packet.

    ``whole``: A packet of a descriptor without a shape.
    ``inside``, ``final``: The row is in memory; it is the last one of its shape.
    ``lane``: Where rows begin with any of 2**``lane_bits`` lanes: the first one, in memory.
    """

    def __init__(self, lane_bits: int = 0) -> None:
        super().__init__(
            {"whole": 1, "inside": 1, "final": 1, **optional(lane_bits, lane=lane_bits)},
        )


class Segment(data.StructLayout):
    """Beats that follow one another: of padding or not, their number less one, and whether the packet ends with them. Those
    of a ``whole`` packet end where it ends. ``beat_log2`` are the bits of an address below the beat.

    Where rows begin with any lane:

    ``first``, ``final``: The lane of its first word, in its first beat, and that of its last one.
    ``shift``, ``wraps``: Those of a :class:`.Piece`: from the lanes in which it comes to those in which it goes on.
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
    """Cuts each row into margins and run: a segment per cycle, a cycle later.

    ``beat_log2``, ``lane_bits``: Bits of an address below the beat, and of the lane with which rows begin, if that is
        any.
    ``reads``: Rows come in the lanes of memory, and go on in those of the stream; otherwise the other way round.
        Padding is in those of the stream always.
    ``shape``, ``row``, ``value``, ``write``: Writes a length of a shape, which has this number.
    ``marks``: The rows, in the order of the stream.
    ``frames``: One for each shape: it is taken with the shape's last row.
    ``number``: That of the shape whose rows are cut. The lengths of those before it are not needed any more.
    """

    def __init__(self, beat_log2: int, lane_bits: int = 0, *, reads: bool = True) -> None:
        self.beat_log2 = beat_log2
        self.lane_bits = lane_bits
        self.reads = reads
        super().__init__(
            {
                "shape": In(range(SHAPES)),
                "row": In(2),
                "value": In(SPAN_BITS),
                "write": In(1),
                "marks": In(stream.Signature(Mark(lane_bits))),
                "frames": In(stream.Signature(Frame)),
                "number": Out(range(2 * SHAPES)),
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
        #: A segment is found, whose length comes in the next cycle.
        found = Signal()
        m.submodules.lengths = memory = Memory(shape=SPAN_BITS, depth=4 * SHAPES, init=[])
        write, read = memory.write_port(), memory.read_port(domain="sync")
        margin = Mux(at_before, BEFORE, AFTER)
        m.d.comb += [
            write.addr.eq(Cat(self.row, self.shape)),
            write.data.eq(self.value),
            write.en.eq(self.write),
            at_before.eq(mark.inside & (behind == 0) & frame.before),
            at_run.eq(mark.inside & ~at_before & ~behind[1]),
            row_ends.eq(~mark.inside | behind[1] | (at_run & ~frame.after)),
            found.eq(
                self.marks.valid & (mark.whole | self.frames.valid) & (~self.output.valid | self.output.ready)
            ),
            read.addr.eq(Cat(Mux(mark.inside, Mux(at_run, RUN, margin), PADDED)[:2], self.number[:-1])),
            read.en.eq(found & ~mark.whole),
            self.marks.ready.eq(found & row_ends),
            self.frames.ready.eq(self.marks.ready & mark.final & ~mark.whole),
        ]
        with m.If(self.frames.ready):
            m.d.sync += self.number.eq(self.number + 1)
        with m.If(found):
            m.d.sync += [
                behind.eq(Mux(row_ends, 0, Mux(at_before, 0b01, 0b10))),
                segment.whole.eq(mark.whole),
                segment.frequent.eq(frame.frequent),
                segment.padding.eq(~mark.whole & ~at_run),
                segment.last.eq(mark.whole | (row_ends & mark.final)),
                self.output.valid.eq(1),
            ]
        with m.Elif(self.output.ready):
            m.d.sync += self.output.valid.eq(0)
        if self.lane_bits:
            lane = Signal(self.lane_bits, reset_less=True)
            with m.If(found):
                m.d.sync += lane.eq(mark.lane)
            self._place(m, lane, read.data)
        else:
            m.d.comb += segment.beats.eq(read.data >> self.beat_log2)
        return m

    def _place(self, m: Module, lane: Value, length: Value) -> None:
        """Finds the lanes of a segment of so many bytes, less one, that begins in a ``lane`` of memory. Words before it have
        filled those of the stream."""
        segment = self.output.payload
        at = Signal(self.lane_bits)
        words = length >> self.beat_log2 - self.lane_bits
        here, there = (lane, at) if self.reads else (at, lane)
        m.d.comb += [
            segment.first.eq(Mux(segment.padding, at, here)),
            Cat(segment.final, segment.beats).eq(words + segment.first),
            Cat(segment.shift, segment.wraps).eq(Mux(segment.padding, 0, there - here)),
        ]
        with m.If(self.output.valid & self.output.ready):
            m.d.sync += at.eq(Mux(segment.last, 0, at + words + 1))
