"""The pipelined compressor, made for FPGAs."""

from amaranth.hdl import Elaboratable, Module
from amaranth.lib import wiring

from cdma.hdl.blocks.queues import Credit, MemoryQueue
from cdma.hdl.codec.parts.compressor import CompressorReport, CompressorTally, Counts, connect_compressor
from cdma.hdl.codec.parts.packer import Packer
from cdma.hdl.spec.codec import CodecConfig

from .window_memory import BeatMemory, WindowMemory

__all__ = ["PipelinedCompressor"]

#: Packets that may be in flight, or wait for their reports to be accepted.
_REPORTS = 16


class PipelinedCompressor(Elaboratable):
    """Drives the ``ports`` of a :class:`~cdma.hdl.codec.generate.Compressor`, and is what that elaborates to.

    The counts of packets wait in a queue for their reports to be accepted. A packet's last beat is let in only with
    credit for its counts, so that counting never waits.
    """

    def __init__(self, config: CodecConfig, ports: wiring.PureInterface) -> None:
        self.config = config
        self.ports = ports

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packer = Packer(self.config, BeatMemory(self.config), pipelined=True)
        m.submodules.packer = packer
        m.submodules.tally = tally = CompressorTally(self.config, pipelined=True)
        m.submodules.report = report = CompressorReport(self.config.format, pipelined=True)
        m.submodules.window_memory = store = WindowMemory(self.config)
        m.submodules.counts = counts = MemoryQueue(Counts(self.config.format), _REPORTS)
        m.submodules.credit = credit = Credit(_REPORTS, ahead=1)
        wiring.connect(m, tally.counts, counts.input)
        wiring.connect(m, counts.output, report.counts)
        m.d.comb += [
            credit.taken.eq(store.ends),
            credit.given.eq(counts.output.valid & counts.output.ready),
            store.admit.eq(credit.there),
        ]
        connect_compressor(m, self.config, self.ports, store=store, packer=packer, tally=tally, report=report)
        return m
