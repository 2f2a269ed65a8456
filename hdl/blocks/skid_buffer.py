"""A skid buffer: a stream register whose ready comes from a register."""

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SkidBuffer"]


class SkidBuffer(wiring.Component):
    """Holds up to two transfers, so that ready, valid and payload each come from flip-flops.

    Throughput: one transfer per cycle. Latency: one cycle.
    """

    def __init__(self, shape: ShapeLike) -> None:
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spare = Signal.like(self.i.payload)
        spare_full = Signal()
        m.d.comb += self.i.ready.eq(~spare_full)
        with m.If(~self.o.valid | self.o.ready):
            m.d.sync += self.o.valid.eq(spare_full | self.i.valid)
            m.d.sync += spare_full.eq(0)
            with m.If(spare_full):
                m.d.sync += self.o.payload.eq(spare)
            with m.Else():
                m.d.sync += self.o.payload.eq(self.i.payload)
        with m.Elif(self.i.valid & ~spare_full):
            m.d.sync += spare.eq(self.i.payload)
            m.d.sync += spare_full.eq(1)
        return m
