"""A stream register for FPGAs: two registers that are filled in turn."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ElasticBuffer"]


class ElasticBuffer(wiring.Component):
    """Holds up to two transfers. Ready and valid come from flip-flops, and the payload from a multiplexer after them.

    Throughput: one transfer per cycle. Latency: one cycle. Valid is low in reset; ready is low too, and in the cycle
    after it.

    In a :class:`.SkidBuffer`, ``o.ready`` reaches all flip-flops of the payload, and the payload comes from them. Here it
    reaches a few: each register takes whatever comes while it is empty, and one flip-flop says which of both is offered.
    """

    def __init__(self, shape: ShapeLike) -> None:
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        full = Signal(2)
        full_next = Signal(2)
        into = Signal()
        offered = Signal()
        put = Signal()
        taken = Signal()
        kept = [Signal.like(self.i.payload, name=f"kept_{number}", reset_less=True) for number in range(2)]
        m.d.comb += [put.eq(self.i.valid & self.i.ready), taken.eq(self.o.valid & self.o.ready)]
        for number, register in enumerate(kept):
            goes, comes = taken & (offered == number), put & (into == number)
            m.d.comb += full_next[number].eq((full[number] & ~goes) | comes)
            with m.If(~full[number]):
                m.d.sync += register.eq(self.i.payload)
        m.d.sync += [
            full.eq(full_next),
            into.eq(into ^ put),
            offered.eq(offered ^ taken),
            self.i.ready.eq(~full_next.all()),
            self.o.valid.eq(full_next.any()),
        ]
        m.d.comb += self.o.payload.eq(Mux(offered, *(register for register in reversed(kept))))
        return m
