"""What the ports of a codec make of ``tkeep``."""

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from cdma import CodecConfig, Format
from cdma.hdl.blocks.beats import Beat
from cdma.hdl.codec.parts.streams import Report
from cdma.hdl.codec.shell import CodecShell


class Block(wiring.Component):
    """Shows what reaches a codec."""

    def __init__(self, config: CodecConfig) -> None:
        beat = stream.Signature(Beat(config.format.word_bits, config.lanes))
        super().__init__({"input": In(beat), "output": Out(beat), "report": Out(stream.Signature(Report))})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.input.ready.eq(1)
        return m


@pytest.mark.parametrize(("word_bits", "lanes"), [(16, 4), (8, 8), (32, 1)])
def test_a_beat_with_a_hole_or_a_cut_word_keeps_nothing(word_bits, lanes):
    config = CodecConfig(Format(word_bits), lanes)
    block = Block(config)
    shell = CodecShell(block, config)
    size = word_bits // 8
    packed = {(1 << words * size) - 1: (1 << words) - 1 for words in range(lanes + 1)}
    seen = {}

    async def bench(ctx):
        ctx.set(shell.port("aresetn"), 1)
        for keep in range(1 << lanes * size):
            ctx.set(shell.port("s_axis_tkeep"), keep)
            await ctx.delay(1e-9)
            seen[keep] = ctx.get(block.input.payload.keep)

    simulator = Simulator(shell)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == {keep: packed.get(keep, 0) for keep in range(1 << lanes * size)}
