"""A register in a stream."""

from amaranth.hdl import Module, ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["StreamRegister"]


class StreamRegister(wiring.Component):
    """Holds one transfer.

    Throughput: one transfer per cycle. Latency: one cycle. ``ready`` of the input follows that of the output within the
    cycle.
    """

    def __init__(self, shape: ShapeLike) -> None:
        super().__init__({"input": In(stream.Signature(shape)), "output": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.input.ready.eq(~self.output.valid | self.output.ready)
        with m.If(self.input.ready):
            m.d.sync += [self.output.valid.eq(self.input.valid), self.output.payload.eq(self.input.payload)]
        return m
