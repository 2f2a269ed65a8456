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

    So ``output.ready`` does not reach the flip-flops of the data, and ``keep`` and ``last``, which decide, come from
    flip-flops.
    """

    def __init__(self, beat: Beat) -> None:
        self.beat = beat
        super().__init__({"input": In(stream.Signature(beat)), "output": Out(stream.Signature(beat))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, sink = self.input, self.output
        ends = data.StructLayout({name: self.beat[name].shape for name in ("keep", "last")})
        m.submodules.ends = decides = SkidBuffer(ends)
        m.submodules.data = carries = ElasticBuffer(self.beat["data"].shape)
        m.d.comb += [
            source.ready.eq(decides.input.ready),
            sink.valid.eq(decides.output.valid),
            sink.payload.data.eq(carries.output.payload),
            carries.input.payload.eq(source.payload.data),
        ]
        for name in ("keep", "last"):
            m.d.comb += [
                decides.input.payload[name].eq(source.payload[name]),
                sink.payload[name].eq(decides.output.payload[name]),
            ]
        for buffer in (decides, carries):
            m.d.comb += [buffer.input.valid.eq(source.valid), buffer.output.ready.eq(sink.ready)]
        return m
