"""The compressor: raw words in, headers and literals out, at a beat per cycle."""

from amaranth.hdl import Module
from amaranth.lib import wiring

from cdma.hdl.blocks.credit import Credit
from cdma.hdl.blocks.memory_queue import MemoryQueue
from cdma.hdl.codec.parts.interface import codec_members
from cdma.hdl.codec.parts.tally import CompressorReport, CompressorTally, Counts
from cdma.hdl.codec.pipelined.window_memory import WindowMemory
from cdma.hdl.codec.plain.window_store import WindowStore
from cdma.hdl.spec.codec import CodecConfig

from .packer import Packer

__all__ = ["Compressor"]

#: Packets that a pipelined compressor has under way or reported without the report being accepted.
_REPORTS = 16


class Compressor(wiring.Component):
    """Compresses packets of words; see ``docs/format.md`` for what comes out.

    Work-conserving: with a source that is always valid and a sink that is always ready, the cycles from a packet's first
    beat accepted to its last output beat are at most the sum over its windows of ``max(words in, words out) / lanes``,
    plus ``window / lanes + 4``. Parts of a header beyond one beat cost a cycle each. A packet behind another costs at
    most one more cycle.

    Latency: a window's first output beat is there ``window / lanes`` cycles after its first input beat, for up to eight
    lanes with a window of 32 (more lanes have more levels to pass).

    One report per packet, as soon as its last beat is counted, which is before the last output beat. A report that is
    not accepted stops the packets behind it, never the data of its own packet.

    A malformed beat is reported as :attr:`Error.BEAT`; what the packet's data say is then without meaning, and the
    packets behind are unharmed.

    A pipelined one takes up to 7 cycles more, and up to 10 more until the first output beat; ``docs/architecture.md`` has
    the reasons. Up to 16 packets may be under way or wait for their reports to be accepted.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(codec_members(config, length=False))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        store: WindowMemory | WindowStore
        m.submodules.packer = packer = Packer(self.config)
        m.submodules.tally = tally = CompressorTally(self.config)
        m.submodules.report = report = CompressorReport(self.config)
        if self.config.pipelined:
            m.submodules.window_memory = store = WindowMemory(self.config)
            m.submodules.counts = counts = MemoryQueue(Counts(), _REPORTS)
            m.submodules.room = room = Credit(_REPORTS)
            wiring.connect(m, tally.counts, counts.input)
            wiring.connect(m, counts.output, report.counts)
            m.d.comb += [
                room.taken.eq(store.ends),
                room.given.eq(counts.output.valid & counts.output.ready),
                store.admit.eq(room.there),
            ]
        else:
            m.submodules.window_store = store = WindowStore(self.config)
            wiring.connect(m, tally.counts, report.counts)
        wiring.connect(m, wiring.flipped(self.input), store.input)
        wiring.connect(m, store.step, packer.step)
        wiring.connect(m, store.arrival, tally.arrival)
        wiring.connect(m, packer.output, wiring.flipped(self.output))
        wiring.connect(m, report.report, wiring.flipped(self.report))
        if self.config.runtime_values:
            m.d.comb += store.values.eq(self.values)
        return m
