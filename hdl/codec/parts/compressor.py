"""What the two kinds of compressor connect alike."""

from amaranth.hdl import Module
from amaranth.lib import wiring

from cdma.hdl.spec.codec import CodecConfig

from .interface import connect_table
from .tally import CompressorReport, CompressorTally

__all__ = ["connect_compressor"]


def connect_compressor(
    m: Module,
    config: CodecConfig,
    ports: wiring.PureInterface,
    *,
    store: wiring.Component,
    packer: wiring.Component,
    tally: CompressorTally,
    report: CompressorReport,
) -> None:
    """Connects the ``ports`` of a compressor and its blocks: ``store`` is a window store or a window memory, and
    ``packer`` is one that fills a beat or two in a cycle."""
    wiring.connect(m, wiring.flipped(ports.input), store.input)
    wiring.connect(m, store.step, packer.step)
    wiring.connect(m, store.arrival, tally.arrival)
    wiring.connect(m, packer.output, wiring.flipped(ports.output))
    wiring.connect(m, report.report, wiring.flipped(ports.report))
    connect_table(m, config, ports, store)
