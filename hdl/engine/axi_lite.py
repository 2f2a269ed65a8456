"""AXI4-Lite: the signature, and the buffer that keeps a subordinate's ports free of combinational paths."""

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .axi import Response

__all__ = ["AxiLiteSignature", "SkidBuffer"]


class AxiLiteSignature(wiring.Signature):
    """AXI4-Lite with 32 data bits, seen from the manager; flat members with the names of the
    specification."""

    def __init__(self, address_bits: int) -> None:
        self.address_bits = address_bits
        super().__init__(
            {
                "awaddr": Out(address_bits),
                "awprot": Out(3),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(32),
                "wstrb": Out(4),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(Response),
                "bvalid": In(1),
                "bready": Out(1),
                "araddr": Out(address_bits),
                "arprot": Out(3),
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(32),
                "rresp": In(Response),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )


class SkidBuffer(wiring.Component):
    """Two entries: one transfer per cycle, with ready, valid and payload each out of a flip-flop."""

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
