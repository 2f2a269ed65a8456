"""Gives a reader or a writer the runs of shapes as commands, and what of the stream is padding."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.command import Command
from cdma.hdl.axi.span import SPAN_BITS
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.spec.shape import queued_rows

from .layout import WalkLayout
from .runs import Run, Runs
from .segments import Frame, Mark, Segment, Segments
from .walker import Walker

__all__ = ["ShapeFeed"]

#: Runs that wait for the reader or the writer, so that the next shape is begun meanwhile.
_RUNS = 8
#: Shapes whose rows may be in the queue.
_FRAMES = 4


class ShapeFeed(wiring.Component):
    """Takes a command for each descriptor. One that is ``shaped`` is that from the lowest byte of its shape to the highest
    one, and becomes the commands of its runs; any other passes on as it is.

    ``lane_bits``
        Rows begin with any of as many lanes; 0 if they are whole beats.
    ``joins``
        Rows that touch are one run. Without ``lane_bits``.
    ``reads``
        The commands are those of a reader.
    ``shapes``
        The shapes of those commands, in their order: one may come before its command. Taken when none is being walked.
    ``command``
        One for each run, each but the last one of a packet with ``more``.
    ``segments``
        What the beats of the packets are, for :class:`.Filler` and :class:`.Dropper`.
    """

    def __init__(
        self,
        dimensions: int,
        address_bits: int,
        beat_log2: int,
        outstanding: int,
        owner_bits: int = 0,
        *,
        lane_bits: int = 0,
        joins: bool = True,
        reads: bool = True,
    ) -> None:
        self.dimensions = dimensions
        self.address_bits = address_bits
        self.beat_log2 = beat_log2
        self.owner_bits = owner_bits
        self.lane_bits = lane_bits
        self.joins = joins and not lane_bits
        self.reads = reads
        #: Rows of which bursts are in flight are in the queue of marks.
        self.marks = queued_rows(outstanding)
        super().__init__(
            {
                "shapes": In(stream.Signature(WalkLayout)),
                "input": In(stream.Signature(Command(address_bits, "shaped", owner=owner_bits))),
                "command": Out(stream.Signature(Command(address_bits, "more", owner=owner_bits))),
                "segments": Out(stream.Signature(Segment(beat_log2, lane_bits))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.walker = walker = Walker(self.dimensions)
        joined = None
        if self.joins:
            # The rows of a run wait in the queue for their data, which come with the run.
            m.submodules.joined = joined = Runs(self.beat_log2, self.marks)
        m.submodules.runs = runs = Fifo(Run, _RUNS)
        m.submodules.frames = frames = Fifo(Frame, _FRAMES)
        m.submodules.rows = rows = Fifo(Mark(self.lane_bits), self.marks)
        m.submodules.marks = marks = Fifo(Mark(self.lane_bits), self.marks)
        m.submodules.cut = cut = Segments(self.beat_log2, self.lane_bits, reads=self.reads)
        size = Signal(SPAN_BITS, reset_less=True)
        shape = self.shapes.payload.extension
        takes = Signal()
        m.d.comb += [
            takes.eq(self.shapes.valid & self.shapes.ready),
            self.shapes.ready.eq(walker.input.ready & frames.input.ready),
            walker.input.valid.eq(takes),
            walker.input.payload.eq(self.shapes.payload),
            frames.input.valid.eq(takes),
            frames.input.payload.before.eq(shape.before_run),
            frames.input.payload.run.eq(shape.run),
            frames.input.payload.after.eq(shape.after_run),
            frames.input.payload.frequent.eq(self.shapes.payload.frequent),
        ]
        with m.If(takes):
            m.d.sync += size.eq(shape.run - 1)
        self._take(m, walker.rows, size, joined, runs, rows)
        self._give(m, runs, rows, marks)
        wiring.connect(m, marks.output, cut.marks)
        wiring.connect(m, frames.output, cut.frames)
        wiring.connect(m, cut.output, wiring.flipped(self.segments))
        return m

    def _take(
        self, m: Module, source: stream.Interface, size: Signal, joined: Runs | None, runs: Fifo, rows: Fifo
    ) -> None:
        """Takes rows of ``size`` bytes, less one: as marks, and those in memory as runs, or as parts of what is
        ``joined``."""
        row, inside = source.payload, source.payload.inside
        into = runs.input if joined is None else joined.rows
        m.d.comb += [
            source.ready.eq(rows.input.ready & (~inside | into.ready)),
            rows.input.valid.eq(source.valid & source.ready),
            rows.input.payload.inside.eq(inside),
            rows.input.payload.final.eq(row.final),
            into.valid.eq(source.valid & inside & rows.input.ready),
            into.payload.first.eq(row.first),
        ]
        if joined is None:
            m.d.comb += [
                runs.input.payload.last.eq(row.first + size),
                runs.input.payload.more.eq(~row.ends),
            ]
            if self.lane_bits:
                m.d.comb += rows.input.payload.lane.eq(self._lane(row.first))
            return
        m.d.comb += [
            joined.rows.payload.ends.eq(row.ends),
            joined.size.eq(size),
            joined.breaks.eq(source.valid & ~inside),
        ]
        wiring.connect(m, joined.output, runs.input)

    def _give(self, m: Module, runs: Fifo, rows: Fifo, marks: Fifo) -> None:
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
            sink.payload.first.eq(Mux(shaped, self._whole(run.first), source.payload.first)),
            sink.payload.last.eq(Mux(shaped, self._whole(run.last), source.payload.last)),
            sink.payload.more.eq(shaped & run.more),
            runs.output.ready.eq(source.valid & shaped & ~given & sink.ready),
            gives_last.eq(sink.valid & sink.ready & ~sink.payload.more),
            marks.input.valid.eq(source.valid & ~marked & (~shaped | rows.output.valid)),
            marks.input.payload.eq(rows.output.payload),
            rows.output.ready.eq(source.valid & shaped & ~marked & marks.input.ready),
            marks_last.eq(marks.input.valid & marks.input.ready & (~shaped | rows.output.payload.final)),
            source.ready.eq(source.valid & (given | gives_last) & (marked | marks_last)),
        ]
        if self.owner_bits:
            m.d.comb += sink.payload.owner.eq(source.payload.owner)
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
        """All bits of an address in a shape, of its lower ones.

        The shape spans at most half of what these tell apart. So if its upper bits change within, the highest of the lower
        ones is set before that, and clear after.
        """
        command = self.input.payload
        upper = Mux(low[-1], command.first[SPAN_BITS:], command.last[SPAN_BITS:])
        return Cat(low, upper)[: self.address_bits]
