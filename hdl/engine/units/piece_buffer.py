"""The buffer of a unit's pieces."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.fifo import Fifo

__all__ = ["PieceBuffer"]


class PieceBuffer(wiring.Component):
    """A :class:`.Fifo` of ``depth`` beats whose ``ready`` comes from a register, so that what the codec does with it has
    the whole cycle. The register knows of a beat two cycles later, and is low while fewer than two entries are known to
    be free.

    Throughput: a beat per cycle in and out. Latency: two cycles.
    """

    def __init__(self, beat: Beat, depth: int) -> None:
        self.beat = beat
        self.depth = depth
        super().__init__({"input": In(stream.Signature(beat)), "output": Out(stream.Signature(beat))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.beats = beats = Fifo(self.beat, self.depth, reserved=True)
        m.d.sync += self.input.ready.eq(beats.level <= self.depth - 2)
        m.d.comb += [
            beats.input.payload.eq(self.input.payload),
            beats.input.valid.eq(self.input.valid & self.input.ready),
        ]
        wiring.connect(m, beats.output, wiring.flipped(self.output))
        return m
