"""A skid buffer: a stream register whose ready comes from a register. It is the register slice at a port."""

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SkidBuffer", "slice_after", "slice_before"]


class SkidBuffer(wiring.Component):
    """Holds up to two transfers, so that ready, valid and payload each come from flip-flops.

    Throughput: one transfer per cycle. Latency: one cycle. Valid is low in reset; ready is low too, and in the cycle
    after it. The payload has no reset.
    """

    def __init__(self, shape: ShapeLike) -> None:
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        offered = Signal.like(self.o.payload, reset_less=True)
        spare = Signal.like(self.i.payload, reset_less=True)
        spare_full = Signal()
        taken = Signal()
        m.d.comb += [taken.eq(self.i.valid & self.i.ready), self.o.payload.eq(offered)]
        with m.If(~self.o.valid | self.o.ready):
            m.d.sync += [self.o.valid.eq(spare_full | taken), spare_full.eq(0), self.i.ready.eq(1)]
            with m.If(spare_full):
                m.d.sync += offered.eq(spare)
            with m.Else():
                m.d.sync += offered.eq(self.i.payload)
        with m.Elif(taken):
            m.d.sync += [spare_full.eq(1), self.i.ready.eq(0)]
        # While it is not full, whatever comes may be in it: one flip-flop enables all of it.
        with m.If(~spare_full):
            m.d.sync += spare.eq(self.i.payload)
        return m


def slice_before(m: Module, name: str, sink: stream.Interface) -> stream.Interface:
    """Puts a skid buffer before an input of a block, and returns what the producer sees instead."""
    m.submodules[name] = buffer = SkidBuffer(sink.payload.shape())
    wiring.connect(m, buffer.o, sink)
    return buffer.i


def slice_after(m: Module, name: str, source: stream.Interface) -> stream.Interface:
    """Puts a skid buffer after an output of a block, and returns what the consumer sees instead."""
    m.submodules[name] = buffer = SkidBuffer(source.payload.shape())
    wiring.connect(m, source, buffer.i)
    return buffer.o
