"""Walks the rows of a shape, in the order of its stream. Gives a reader or a writer the runs of shapes as commands, and
what of the stream is padding.
"""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import SPAN_BITS, Command
from cdma.hdl.blocks.arithmetic import is_next, one_of
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.spec.shape import COUNT_BITS, PADDING_BITS, queued_rows

from .segments import Frame, Mark, Run, Runs, Segment, Segments, WalkLayout

#: Tells the entries of a dimension apart, which begin below 0.
_INDEX_BITS = COUNT_BITS + 1
#: Parts of an address that are summed each by itself; a cycle later the carries join them.
_PARTS = 3

#: A row of the stream.
#:
#: ``first``
#:     The lower part of its address.
#: ``inside``
#:     It is in memory: it is no padding.
#: ``ends``, ``final``
#:     It is the last one in memory; and the last one.
Row = data.StructLayout({"first": SPAN_BITS, "inside": 1, "ends": 1, "final": 1})


class _Axis(NamedTuple):
    """A dimension.

    ``stride``, ``start``, ``count``, ``end``
        Its stride, the number of its first entry, which is below 0 where padding comes before those in memory, the entries
        in memory, and the number after its last one.
    ``index``, ``base``
        The entry in hand, and where it lies.
    ``inside``, ``edge``, ``last``
        The entry is in memory, the last one there, and the last one: registers, a cycle after ``index``.
    ``moves``, ``strides``
        As those: a step moves this dimension on, as it is the innermost one that is not at its end, and by its stride.
    """

    stride: Signal
    start: Signal
    count: Signal
    end: Signal
    index: Signal
    base: Signal
    inside: Signal
    edge: Signal
    last: Signal
    moves: Signal
    strides: Signal


class Walker(wiring.Component):
    """Takes a shape at a time, and gives its rows: one every second cycle.

    A step moves one dimension on, and sets those inside it back to their first entry, which lies where the dimension now
    is. So there is one sum for all, and nothing is multiplied.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        super().__init__({"input": In(stream.Signature(WalkLayout)), "rows": Out(stream.Signature(Row))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        axes = [
            _Axis(
                *(
                    Signal(bits, name=f"{name}_{number}", reset_less=True)
                    for name, bits in (
                        ("stride", SPAN_BITS),
                        ("start", signed(PADDING_BITS + 1)),
                        ("count", COUNT_BITS),
                        ("end", _INDEX_BITS),
                        ("index", _INDEX_BITS),
                        ("base", SPAN_BITS),
                        ("inside", 1),
                        ("edge", 1),
                        ("last", 1),
                        ("moves", 1),
                        ("strides", 1),
                    )
                )
            )
            for number in range(1, self.dimensions + 1)
        ]
        walks = Signal()
        settled = Signal()
        row = self.rows.payload
        steps = Signal()
        stepped = Signal()
        m.d.comb += [
            self.input.ready.eq(~walks),
            self.rows.valid.eq(settled),
            row.first.eq(axes[0].base),
            row.inside.eq(Cat(axis.inside for axis in axes).all()),
            row.ends.eq(Cat(axis.edge for axis in axes).all()),
            row.final.eq(Cat(axis.last for axis in axes).all()),
            steps.eq(settled & self.rows.ready),
        ]
        m.d.sync += stepped.eq(steps)
        self._move(m, axes, stepped)
        with m.If(self.input.valid & ~walks):
            m.d.sync += walks.eq(1)
            self._load(m, axes)
        with m.Elif(steps & row.final):
            m.d.sync += walks.eq(0)
        m.d.sync += settled.eq((walks & ~settled) | (settled & ~steps))
        self._settle(m, axes)
        with m.If(steps):
            self._step(m, axes)
        return m

    def _load(self, m: Module, axes: list[_Axis]) -> None:
        """Begins with the first entry of each dimension."""
        shape = self.input.payload.extension
        for number, axis in enumerate(axes, 1):
            count, before, after = (shape[f"{name}_{number}"] for name in ("count", "before", "after"))
            entries = count | (count == 0)
            m.d.sync += [
                axis.stride.eq(shape[f"stride_{number}"]),
                axis.start.eq(-before),
                axis.count.eq(entries),
                axis.end.eq(entries + after),
                axis.index.eq(-before),
                axis.base.eq(self.input.payload.first),
            ]

    @staticmethod
    def _settle(m: Module, axes: list[_Axis]) -> None:
        """Says where the indexes are."""
        ends: Value = C(1, 1)
        for axis in axes:
            inside, edge, last = (
                axis.index < axis.count,
                is_next(axis.index, axis.count),
                is_next(axis.index, axis.end),
            )
            # The last dimension is at its end only with the final row, after which nothing counts.
            moves = ends & ~last if axis is not axes[-1] else ends
            m.d.sync += [
                axis.inside.eq(inside),
                axis.edge.eq(edge),
                axis.last.eq(last),
                axis.moves.eq(moves),
                axis.strides.eq(moves & inside),
            ]
            ends &= last

    def _step(self, m: Module, axes: list[_Axis]) -> None:
        """Moves the innermost dimension that is not at its end, and begins those inside it anew."""
        for axis, begins in zip(axes, self._begins(axes), strict=True):
            with m.If(begins):
                m.d.sync += axis.index.eq(axis.start)
            with m.Elif(axis.moves):
                m.d.sync += axis.index.eq(axis.index + 1)

    def _move(self, m: Module, axes: list[_Axis], stepped: Signal) -> None:
        """Finds where the entries lie in the cycle after a step, while all but the indexes is still that of the row before.
        After an entry of padding the address stays."""
        moving = one_of(*((axis.moves, axis.base) for axis in axes))
        stride = one_of(*((axis.strides, axis.stride) for axis in axes))
        moved: list[Value] = []
        carry: Value = C(0, 1)
        for part in range(_PARTS):
            bits = slice(part * SPAN_BITS // _PARTS, (part + 1) * SPAN_BITS // _PARTS)
            total = Signal(bits.stop - bits.start + 1, name=f"total_{part}", reset_less=True)
            joined = Signal.like(total, name=f"joined_{part}")
            m.d.sync += total.eq(moving[bits] + stride[bits])
            m.d.comb += joined.eq(total + carry)
            moved.append(joined[:-1])
            carry = joined[-1]
        for axis, begins in zip(axes, self._begins(axes), strict=True):
            with m.If(stepped & (axis.moves | begins)):
                m.d.sync += axis.base.eq(Cat(*moved))

    @staticmethod
    def _begins(axes: list[_Axis]) -> list[Value]:
        """For each dimension, whether it begins anew: one outside it moves."""
        return [Cat(outer.moves for outer in axes[number:]).any() for number in range(1, len(axes) + 1)]


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
                "shapes": In(stream.Signature(WalkLayout)),
                "input": In(stream.Signature(Command(address_bits, "shaped", user=user_bits))),
                "command": Out(stream.Signature(Command(address_bits, "more", user=user_bits))),
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
        """All bits of an address in a shape, of its lower ones.

        The shape spans at most half of what these tell apart. So if its upper bits change within, the highest of the lower
        ones is set before that, and clear after.
        """
        command = self.input.payload
        upper = Mux(low[-1], command.first[SPAN_BITS:], command.last[SPAN_BITS:])
        return Cat(low, upper)[: self.address_bits]
