"""The plain compressor, made of logic and flip-flops."""

from amaranth.hdl import Elaboratable, Module
from amaranth.lib import wiring

from cdma.hdl.codec.parts.compressor import connect_compressor
from cdma.hdl.codec.parts.packer import Packer
from cdma.hdl.codec.parts.tally import CompressorReport, CompressorTally
from cdma.hdl.spec.codec import CodecConfig

from .beat_packer import BeatPacker
from .beat_queue import BeatQueue
from .window_store import WindowStore

__all__ = ["PlainCompressor"]


class PlainCompressor(Elaboratable):
    """Drives the ``ports`` of a :class:`~cdma.hdl.codec.compressor.Compressor`, and is what that elaborates to."""

    def __init__(self, config: CodecConfig, ports: wiring.PureInterface) -> None:
        self.config = config
        self.ports = ports
        # As deep as work conservation needs: a step waits only if the beats before it hold a beat more than
        # their windows could have taken cycles to arrive.
        self.depth = 2 if min(config.format.header_words, config.units) == 1 else 3

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packer: Packer | BeatPacker
        if self.config.work_conserving:
            packer = Packer(self.config, BeatQueue(self.config, self.depth))
        else:
            packer = BeatPacker(self.config)
        m.submodules.packer = packer
        m.submodules.tally = tally = CompressorTally(self.config)
        m.submodules.report = report = CompressorReport(self.config.format)
        m.submodules.window_store = store = WindowStore(self.config)
        wiring.connect(m, tally.counts, report.counts)
        connect_compressor(m, self.config, self.ports, store=store, packer=packer, tally=tally, report=report)
        return m
