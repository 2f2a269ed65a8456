"""Joins rows that touch into runs, so that bursts are long."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.span import SPAN_BITS
from cdma.hdl.blocks.gates import is_next

__all__ = ["Run", "Runs"]

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
