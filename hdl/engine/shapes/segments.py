"""Tells padding and data apart in the beats of a packet."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.span import SPAN_BITS
from cdma.hdl.spec.shape import MARGIN_BITS, RUN_BITS

__all__ = ["Frame", "Mark", "Segment", "Segments"]

#: Bytes of the rows of a shape: a run, and the margins before and after it; and whether padding is the most frequent value.
Frame = data.StructLayout({"before": MARGIN_BITS, "run": RUN_BITS, "after": MARGIN_BITS, "frequent": 1})

#: A row of the stream, or all of a packet.
#:
#: ``whole``
#:     A packet of a descriptor without a shape.
#: ``inside``, ``final``
#:     The row is in memory; it is the last one of its shape.
Mark = data.StructLayout({"whole": 1, "inside": 1, "final": 1})

#: Beats that follow one another: of padding or not, their number less one, and whether the packet ends with them. Those of a
#: ``whole`` packet end where it ends.
Segment = data.StructLayout({"whole": 1, "padding": 1, "last": 1, "beats": SPAN_BITS, "frequent": 1})


class Segments(wiring.Component):
    """Cuts each row into margins and run: a segment per cycle.

    ``marks``
        The rows, in the order of the stream.
    ``frames``
        One for each shape: it is taken with the shape's last row.
    """

    def __init__(self, beat_log2: int) -> None:
        self.beat_log2 = beat_log2
        super().__init__(
            {
                "marks": In(stream.Signature(Mark)),
                "frames": In(stream.Signature(Frame)),
                "output": Out(stream.Signature(Segment)),
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
        m.d.comb += [
            padded.eq(~mark.whole & ~mark.inside),
            at_before.eq(mark.inside & (behind == 0) & (frame.before != 0)),
            at_run.eq(mark.inside & ~at_before & ~behind[1]),
            row_ends.eq(mark.whole | padded | behind[1] | (at_run & (frame.after == 0))),
            length.eq(
                Mux(
                    padded,
                    frame.before + frame.run + frame.after,
                    Mux(at_before, frame.before, Mux(at_run, frame.run, frame.after)),
                )
            ),
            segment.whole.eq(mark.whole),
            segment.frequent.eq(frame.frequent),
            segment.padding.eq(~mark.whole & ~at_run),
            segment.last.eq(mark.whole | (row_ends & mark.final)),
            segment.beats.eq((length >> self.beat_log2) - 1),
            self.output.valid.eq(self.marks.valid & (mark.whole | self.frames.valid)),
            self.marks.ready.eq(self.output.valid & self.output.ready & row_ends),
            self.frames.ready.eq(self.marks.ready & mark.final & ~mark.whole),
        ]
        with m.If(self.output.valid & self.output.ready):
            m.d.sync += behind.eq(Mux(row_ends, 0, Mux(at_before, 0b01, 0b10)))
        return m
