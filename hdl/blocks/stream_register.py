"""A register in a stream."""

from amaranth.hdl import Module, ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["StreamRegister"]


class StreamRegister(wiring.Component):
    """Holds one transfer.

    Throughput: one transfer per cycle. Latency: one cycle. ``ready`` of the input follows that of the output within the
    cycle.

    ``halves``
        Throughput: one transfer in two cycles. ``ready`` of the input comes from a flip-flop.
    """

    def __init__(self, shape: ShapeLike, *, halves: bool = False) -> None:
        self.halves = halves
        super().__init__({"input": In(stream.Signature(shape)), "output": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        follows = 0 if self.halves else self.output.ready
        m.d.comb += self.input.ready.eq(~self.output.valid | follows)
        with m.If(self.input.ready):
            m.d.sync += [self.output.valid.eq(self.input.valid), self.output.payload.eq(self.input.payload)]
        with m.Elif(self.output.ready):
            m.d.sync += self.output.valid.eq(0)
        return m
