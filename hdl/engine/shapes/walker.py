"""Walks the rows of a shape, in the order of its stream. Gives a reader or a writer the runs of shapes as commands, and
what of the stream is padding.
"""

from typing import NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import SPAN_BITS, Command
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.spec.shape import COUNT_BITS, PADDING_BITS, queued_rows

from .segments import (
    FIRST,
    RUNS,
    SHAPES,
    SIZE,
    Frame,
    Mark,
    Run,
    Runs,
    Segment,
    Segments,
    WalkPort,
    extent_row,
    stride_row,
)

#: A row of the stream.
#:
#: ``first``, ``last``
#:     The lower parts of the addresses of its first byte and of its last one.
#: ``inside``
#:     It is in memory: it is no padding.
#: ``ends``, ``final``
#:     It is the last one in memory; and the last one.
Row = data.StructLayout({"first": SPAN_BITS, "last": SPAN_BITS, "inside": 1, "ends": 1, "final": 1})

#: Where a walk is in a dimension.
#:
#: ``base``
#:     The lower part of the address of the entry.
#: ``left``
#:     Entries up to the last one before those in memory, among those, or after those, of which it is one.
#: ``inside``, ``behind``
#:     It is in memory; it is after those in memory.
Place = data.StructLayout({"base": SPAN_BITS, "left": COUNT_BITS, "inside": 1, "behind": 1})


class _Outer(NamedTuple):
    """The dimensions outside the innermost one.

    ``inside``, ``edge``, ``last``: A bit for each: its entry is in memory, the last one there, and the last one.
    ``axis``: The number of the dimension that moves on or begins.
    ``moves``: The innermost one that is not at its end.
    ``keeps``, ``finds``, ``found``: Drive: the place in ``axis`` is written, and that in ``moves`` read; the place that
        was read last.
    """

    inside: Signal
    edge: Signal
    last: Signal
    axis: Signal
    moves: Signal
    keeps: Signal
    finds: Signal
    found: Value


class Walker(wiring.Component):
    """Walks a shape at a time: a row every second cycle, and four cycles more where a dimension outside the innermost one
    moves on, with two for each one between.

    The numbers of the shape are in a memory, and so is the place in each dimension but the innermost one. A step moves one
    dimension on, and sets those inside it back to their first entry, which lies where the dimension now is. So there is one
    sum for all, and nothing is multiplied. The same sum gives the last byte of a row.

    ``shape``, ``row``, ``value``, ``write``: Writes a number of a shape, which has this number itself.
    ``end``: The number after that of the last shape that is to be walked.
    ``rests``: High while none is walked.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        super().__init__(
            {
                "shape": In(range(SHAPES)),
                "row": In(range(2 * dimensions + 2)),
                "value": In(SPAN_BITS),
                "write": In(1),
                "end": In(range(2 * SHAPES)),
                "rests": Out(1),
                "rows": Out(stream.Signature(Row)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.numbers = memory = Memory(shape=SPAN_BITS, depth=SHAPES << len(self.row), init=[])
        write, self._read = memory.write_port(), memory.read_port(domain="sync")
        #: The shape that is walked, and the row of its numbers that is read.
        number = Signal(range(2 * SHAPES))
        self._found = Signal.like(self.row, name="found")
        self._place = place = Signal(Place, name="place", reset_less=True)
        #: The entry is the last one of its kind, and it is the last one.
        self._ends, self._last = ends, last = Signal(name="ends"), Signal(name="last")
        #: Goes to the next entry, or to the first one.
        self._steps, self._begins = Signal(name="steps"), Signal(name="begins")
        #: The extent has been read, also where no entries of a kind end; there is padding after those in memory.
        self._extends = Signal(name="extends")
        self._padded = Signal(name="padded", reset_less=True)
        sum = Signal(SPAN_BITS)
        row = self.rows.payload
        m.d.comb += [
            write.addr.eq(Cat(self.row, self.shape)),
            write.data.eq(self.value),
            write.en.eq(self.write),
            self._read.addr.eq(Cat(self._found, number[:-1])),
            self._read.en.eq(0),
            sum.eq(place.base + self._read.data),
            row.first.eq(place.base),
            row.last.eq(sum),
            row.inside.eq(place.inside),
            row.ends.eq(place.inside & ends),
            row.final.eq(last),
        ]
        self._step(m)
        outer = self._outer(m) if self.dimensions > 1 else None
        with m.FSM() as fsm:
            with m.State("rest"), m.If(number != self.end):
                self._find(m, FIRST)
                m.next = "first"
            with m.State("first"):
                self._find(m, extent_row(self.dimensions))
                m.d.sync += place.base.eq(self._read.data)
                if outer is not None:
                    m.d.sync += outer.axis.eq(self.dimensions)
                m.next = "begin"
            with m.State("row"):
                m.d.comb += self.rows.valid.eq(1)
                with m.If(self.rows.ready):
                    self._find(m, Mux(ends, extent_row(1), stride_row(1)))
                    m.next = "step"
                    with m.If(row.final):
                        m.d.sync += number.eq(number + 1)
                        m.next = "rest"
                    if outer is not None:
                        with m.Elif(last):
                            self._find(m, stride_row(outer.moves))
                            m.d.comb += outer.finds.eq(1)
                            m.d.sync += outer.axis.eq(outer.moves)
                            m.next = "outer"
            with m.State("step"):
                self._find(m, SIZE)
                m.d.comb += self._steps.eq(1)
                # Behind the last entry in memory the address does not matter.
                with m.If(place.inside):
                    m.d.sync += place.base.eq(sum)
                m.next = "row"
            with m.State("begin"):
                self._find(m, SIZE)
                m.d.comb += [self._steps.eq(1), self._begins.eq(1)]
                m.next = "row"
                if outer is not None:
                    with m.If(outer.axis != 1):
                        m.next = "keep"
            if outer is not None:
                self._carry(m, outer, sum)
        m.d.comb += self.rests.eq(fsm.ongoing("rest"))
        return m

    def _find(self, m: Module, row: Value | int) -> None:
        """Reads a number of the shape."""
        m.d.comb += [self._found.eq(row), self._read.en.eq(1)]

    def _step(self, m: Module) -> None:
        """Counts the entries. Where those of a kind end or begin, the extent has been read."""
        extent, place, begins = self._read.data, self._place, self._begins
        count, before, after = (
            extent[:COUNT_BITS],
            extent[COUNT_BITS:][:PADDING_BITS],
            extent[COUNT_BITS + PADDING_BITS :][:PADDING_BITS],
        )
        first = begins & before.any()
        m.d.comb += [
            self._ends.eq(place.left == 1),
            self._last.eq(self._ends & (place.behind | (place.inside & ~self._padded))),
        ]
        with m.If(self._steps & (begins | self._ends | self._extends)):
            m.d.sync += self._padded.eq(after.any())
        with m.If(self._steps):
            m.d.sync += place.left.eq(place.left - 1)
            with m.If(begins | self._ends):
                m.d.sync += [
                    place.inside.eq(Mux(begins, ~first, ~place.inside)),
                    place.behind.eq(~begins & place.inside),
                    place.left.eq(Mux(first, before, Mux(~begins & place.inside, after, count))),
                ]

    def _outer(self, m: Module) -> _Outer:
        """The dimensions outside the innermost one; a row is what all of them say."""
        place, row, count = self._place, self.rows.payload, self.dimensions - 1
        m.submodules.places = memory = Memory(shape=Place.size, depth=4, init=[])
        write, read = memory.write_port(), memory.read_port(domain="sync")
        inside, edge, last = (
            Signal(count, name=f"outer_{name}", reset_less=True) for name in ("inside", "edge", "last")
        )
        outer = _Outer(
            inside,
            edge,
            last,
            axis=Signal(range(self.dimensions + 1), name="axis", reset_less=True),
            moves=Signal(range(self.dimensions + 1), name="moves"),
            keeps=write.en,
            finds=read.en,
            found=read.data,
        )
        m.d.comb += [
            write.addr.eq(outer.axis),
            write.data.eq(place),
            read.addr.eq(outer.moves),
            read.en.eq(0),
            outer.moves.eq(2),
            row.inside.eq(place.inside & outer.inside.all()),
            row.ends.eq(place.inside & self._ends & outer.edge.all()),
            row.final.eq(self._last & outer.last.all()),
        ]
        for number in range(3, self.dimensions + 1):
            with m.If(outer.last[: number - 2].all()):
                m.d.comb += outer.moves.eq(number)
        return outer

    def _carry(self, m: Module, outer: _Outer, sum: Value) -> None:
        """States in which a dimension outside the innermost one moves on, and in which it and those inside it are kept."""
        place, axis = self._place, outer.axis
        with m.State("outer"):
            m.d.sync += place.eq(outer.found)
            m.next = "moved"
        # The stride is still what was read last.
        with m.State("moved"):
            self._find(m, extent_row(axis))
            with m.If(place.inside):
                m.d.sync += place.base.eq(sum)
            m.next = "moves"
        with m.State("moves"):
            m.d.comb += [self._steps.eq(1), self._extends.eq(1)]
            m.next = "keep"
        with m.State("keep"):
            self._find(m, extent_row(axis - 1))
            m.d.comb += outer.keeps.eq(1)
            m.d.sync += axis.eq(axis - 1)
            for index in range(self.dimensions - 1):
                with m.If(axis == index + 2):
                    m.d.sync += [
                        outer.inside[index].eq(place.inside),
                        outer.edge[index].eq(place.inside & self._ends),
                        outer.last[index].eq(self._last),
                    ]
            m.next = "begin"


class ShapeFeed(wiring.Component):
    """Takes a command for each descriptor. One that is ``shaped`` is that from the lowest byte of its shape to the highest
    one, and becomes the commands of its runs; any other passes on as it is.

    ``lane_bits``: Rows begin with any of as many lanes; 0 if they are whole beats.
    ``joins``: Rows that touch are one run. Without ``lane_bits``.
    ``reads``: The commands are those of a reader.
    ``shapes``: The shapes of those commands, in their order: one may come before its command.
    ``command``: One for each run, each but the last one of a packet with ``more``.
    ``segments``: What the beats of the packets are, for :class:`.Filler` and :class:`.Dropper`.
    """

    def __init__(
        self,
        dimensions: int,
        address_bits: int,
        beat_log2: int,
        outstanding: int,
        user_bits: int = 0,
        *,
        lane_bits: int = 0,
        joins: bool = True,
        reads: bool = True,
    ) -> None:
        self.dimensions = dimensions
        self.address_bits = address_bits
        self.beat_log2 = beat_log2
        self.user_bits = user_bits
        self.lane_bits = lane_bits
        self.joins = joins and not lane_bits
        self.reads = reads
        #: Rows of which bursts are in flight are in the queue of marks.
        self.marks = queued_rows(outstanding)
        super().__init__(
            {
                "shapes": In(WalkPort(dimensions)),
                "input": In(stream.Signature(Command(address_bits, "shaped", user=user_bits))),
                "command": Out(stream.Signature(Command(address_bits, "more", user=user_bits))),
                "segments": Out(stream.Signature(Segment(beat_log2, lane_bits))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.walker = walker = Walker(self.dimensions)
        # The rows of a run wait in the queue for their data, which come with the run.
        runs = Runs(self.beat_log2, self.marks) if self.joins else Fifo(Run, RUNS)
        m.submodules.runs = runs
        m.submodules.frames = frames = Fifo(Frame, SHAPES)
        m.submodules.rows = rows = Fifo(Mark(self.lane_bits), self.marks)
        m.submodules.marks = marks = Fifo(Mark(self.lane_bits), self.marks)
        m.submodules.cut = cut = Segments(self.beat_log2, self.lane_bits, reads=self.reads)
        shapes = self.shapes
        #: The number of the shape that is written.
        number = Signal(range(2 * SHAPES))
        following = Signal.like(number)
        m.d.comb += [
            following.eq(number + shapes.push),
            frames.input.valid.eq(shapes.push),
            frames.input.payload.eq(shapes.frame),
            walker.end.eq(number),
        ]
        m.d.sync += [number.eq(following), shapes.room.eq((following - cut.number)[: len(number)] != SHAPES)]
        for sink, write in ((walker, shapes.walks), (cut, shapes.cuts)):
            m.d.comb += [
                sink.shape.eq(number[:-1]),
                sink.row.eq(shapes.row),
                sink.value.eq(shapes.value),
                sink.write.eq(write),
            ]
        self._take(m, walker.rows, runs, rows)
        self._give(m, runs, rows, marks)
        wiring.connect(m, marks.output, cut.marks)
        wiring.connect(m, frames.output, cut.frames)
        wiring.connect(m, cut.output, wiring.flipped(self.segments))
        return m

    def _take(self, m: Module, source: stream.Interface, runs: Runs | Fifo, rows: Fifo) -> None:
        """Takes rows: as marks, and those in memory as runs, or as parts of them."""
        row, inside, into = source.payload, source.payload.inside, runs.input
        m.d.comb += [
            source.ready.eq(rows.input.ready & (~inside | into.ready)),
            rows.input.valid.eq(source.valid & source.ready),
            rows.input.payload.inside.eq(inside),
            rows.input.payload.final.eq(row.final),
            into.valid.eq(source.valid & inside & rows.input.ready),
            into.payload.first.eq(row.first),
            into.payload.last.eq(row.last),
            into.payload.more.eq(~row.ends),
        ]
        if self.lane_bits:
            m.d.comb += rows.input.payload.lane.eq(self._lane(row.first))
        if self.joins:
            m.d.comb += runs.breaks.eq(source.valid & ~inside)

    def _give(self, m: Module, runs: Runs | Fifo, rows: Fifo, marks: Fifo) -> None:
        """Gives each command, and the marks of its rows, in the order of the commands."""
        source, sink, run = self.input, self.command, runs.output.payload
        shaped = source.payload.shaped
        #: Of the command at the input, all runs are given, or all marks.
        given = Signal()
        marked = Signal()
        gives_last = Signal()
        marks_last = Signal()
        m.d.comb += [
            sink.valid.eq(source.valid & ~given & (~shaped | runs.output.valid)),
            sink.payload.first.eq(self._whole(Mux(shaped, run.first, source.payload.first[:SPAN_BITS]))),
            sink.payload.last.eq(self._whole(Mux(shaped, run.last, source.payload.last[:SPAN_BITS]))),
            sink.payload.more.eq(shaped & run.more),
            sink.payload.user.eq(source.payload.user),
            runs.output.ready.eq(source.valid & shaped & ~given & sink.ready),
            gives_last.eq(sink.valid & sink.ready & ~sink.payload.more),
            marks.input.valid.eq(source.valid & ~marked & (~shaped | rows.output.valid)),
            marks.input.payload.eq(rows.output.payload),
            rows.output.ready.eq(source.valid & shaped & ~marked & marks.input.ready),
            marks_last.eq(marks.input.valid & marks.input.ready & (~shaped | rows.output.payload.final)),
            source.ready.eq(source.valid & (given | gives_last) & (marked | marks_last)),
        ]
        with m.If(~shaped):
            m.d.comb += [marks.input.payload.whole.eq(1), marks.input.payload.inside.eq(0)]
            if self.lane_bits:
                m.d.comb += marks.input.payload.lane.eq(self._lane(source.payload.first))
        m.d.sync += [
            given.eq((given | gives_last) & ~source.ready),
            marked.eq((marked | marks_last) & ~source.ready),
        ]

    def _lane(self, address: Value) -> Value:
        """The lane of a word in its beat."""
        return address[self.beat_log2 - self.lane_bits : self.beat_log2]

    def _whole(self, low: Value) -> Value:
        """All bits of an address of the command, of its lower ones.

        It spans at most half of what these tell apart. So if its upper bits change within, the highest of the lower
        ones is set before that, and clear after.
        """
        command = self.input.payload
        upper = Mux(low[-1], command.first[SPAN_BITS:], command.last[SPAN_BITS:])
        return Cat(low, upper)[: self.address_bits]
