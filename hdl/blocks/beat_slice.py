"""A register slice for beats on an FPGA, whose data come from far and go far."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .beats import Beat
from .elastic_buffer import ElasticBuffer
from .skid_buffer import SkidBuffer

__all__ = ["BeatSlice"]


class BeatSlice(wiring.Component):
    """A :class:`.SkidBuffer` for beats, whose data are in an :class:`.ElasticBuffer`: both take and give in the same cycles.

    So ``o.ready`` does not reach the flip-flops of the data, and ``keep`` and ``last``, which decide, come from flip-flops.
    """

    def __init__(self, beat: Beat) -> None:
        self.beat = beat
        super().__init__({"i": In(stream.Signature(beat)), "o": Out(stream.Signature(beat))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        ends = data.StructLayout({name: self.beat[name].shape for name in ("keep", "last")})
        m.submodules.ends = decides = SkidBuffer(ends)
        m.submodules.data = carries = ElasticBuffer(self.beat["data"].shape)
        m.d.comb += [
            i.ready.eq(decides.i.ready),
            o.valid.eq(decides.o.valid),
            o.payload.data.eq(carries.o.payload),
            carries.i.payload.eq(i.payload.data),
        ]
        for name in ("keep", "last"):
            m.d.comb += [
                decides.i.payload[name].eq(i.payload[name]),
                o.payload[name].eq(decides.o.payload[name]),
            ]
        for buffer in (decides, carries):
            m.d.comb += [buffer.i.valid.eq(i.valid), buffer.o.ready.eq(o.ready)]
        return m
