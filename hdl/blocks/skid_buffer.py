"""A skid buffer: a stream register whose ready comes from a register. It is the register slice at a port."""

from amaranth.hdl import DomainRenamer, Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SkidBuffer", "slice_after", "slice_before"]


class SkidBuffer(wiring.Component):
    """Holds up to two transfers, so that ready, valid and payload each come from flip-flops.

    Throughput: one transfer per cycle. Latency: one cycle. Valid is low in reset; ready is low too, and in the cycle
    after it. The payload has no reset.
    """

    def __init__(self, shape: ShapeLike) -> None:
        super().__init__({"input": In(stream.Signature(shape)), "output": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        offered = Signal.like(self.output.payload, reset_less=True)
        spare = Signal.like(self.input.payload, reset_less=True)
        spare_full = Signal()
        taken = Signal()
        m.d.comb += [taken.eq(self.input.valid & self.input.ready), self.output.payload.eq(offered)]
        with m.If(~self.output.valid | self.output.ready):
            m.d.sync += [self.output.valid.eq(spare_full | taken), spare_full.eq(0), self.input.ready.eq(1)]
            with m.If(spare_full):
                m.d.sync += offered.eq(spare)
            with m.Else():
                m.d.sync += offered.eq(self.input.payload)
        with m.Elif(taken):
            m.d.sync += [spare_full.eq(1), self.input.ready.eq(0)]
        # While it is not full, whatever comes may be in it: one flip-flop enables all of it.
        with m.If(~spare_full):
            m.d.sync += spare.eq(self.input.payload)
        return m


def slice_before(m: Module, name: str, sink: stream.Interface, domain: str = "sync") -> stream.Interface:
    """Puts a skid buffer before an input of a block, and returns what the producer sees instead."""
    buffer = SkidBuffer(sink.payload.shape())
    m.submodules[name] = DomainRenamer(domain)(buffer)
    wiring.connect(m, buffer.output, sink)
    return buffer.input


def slice_after(m: Module, name: str, source: stream.Interface, domain: str = "sync") -> stream.Interface:
    """Puts a skid buffer after an output of a block, and returns what the consumer sees instead."""
    buffer = SkidBuffer(source.payload.shape())
    m.submodules[name] = DomainRenamer(domain)(buffer)
    wiring.connect(m, source, buffer.input)
    return buffer.output
