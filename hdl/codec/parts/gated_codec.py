"""A codec whose clock stops while it waits."""

from amaranth.hdl import Module, Value
from amaranth.lib import wiring

from cdma.hdl.blocks.clock_gate import ClockGates
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["GatedCodec"]

#: Beyond a window, a codec is as long as its pipeline, and counts what it reports.
_PIPELINE_CYCLES = 16


class GatedCodec(wiring.Component):
    """The ports of a plain ``codec``, which has a clock while anything is offered at one of them, and until it has settled.

    A beat that is offered opens the gate in the same cycle, so none is later than without a gate.
    """

    def __init__(self, codec: wiring.Component, config: CodecConfig, gates: ClockGates) -> None:
        self.codec = codec
        self.config = config
        self.gates = gates
        super().__init__(dict(codec.signature.members.items()))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        active: Value = self.input.valid | self.output.valid | self.report.valid
        if "length" in self.signature.members:
            active |= self.length.valid
        settling = self.config.beats + _PIPELINE_CYCLES
        m.submodules.codec = self.gates.gated(m, "codec", self.codec, active, settling)
        wiring.connect(m, wiring.flipped(self), self.codec)
        return m
