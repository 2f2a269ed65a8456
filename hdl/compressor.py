"""The compressor: raw words in, headers and literals out, at a beat per cycle."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .butterfly import log2
from .packer import Packer
from .params import CodecConfig
from .streams import Beat, Error, Report
from .window_store import Arrival, WindowStore

__all__ = ["Compressor"]


class Tally(wiring.Component):
    """Counts a packet and reports it.

    The counters themselves are the report, for as long as it takes until it is accepted; beats of the next packet wait.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {"arrival": In(stream.Signature(Arrival(config.lanes))), "report": Out(stream.Signature(Report))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self.config.format
        arrival = self.arrival.payload
        words, literals = Signal(32), Signal(32)
        malformed = Signal()
        done = Signal()
        report = self.report.payload
        windows = (words >> log2(fmt.window)) + (words[: log2(fmt.window)] != 0)
        m.d.comb += [
            self.report.valid.eq(done),
            report.words_in.eq(words),
            report.words_out.eq(literals + windows * fmt.header_words),
            report.literals.eq(literals),
            report.error.eq(Mux(malformed, Error.BEAT, Error.NONE)),
            self.arrival.ready.eq(~done | self.report.ready),
        ]
        # A beat is counted the cycle after its arrival, so that the long adders start from a register.
        late = Signal(Arrival(self.config.lanes), reset_less=True)
        counts = Signal()
        with m.If(self.arrival.ready):
            m.d.sync += [
                late.eq(arrival),
                counts.eq(self.arrival.valid),
                words.eq(Mux(done, 0, words) + Mux(counts, late.words, 0)),
                literals.eq(Mux(done, 0, literals) + Mux(counts, late.literals, 0)),
                malformed.eq((malformed & ~done) | (counts & late.malformed)),
                done.eq(counts & late.last),
            ]
        return m


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
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt, lanes = config.format, config.lanes
        members = {
            "input": In(stream.Signature(Beat(fmt.word_bits, lanes))),
            "output": Out(stream.Signature(Beat(fmt.word_bits, lanes))),
            "report": Out(stream.Signature(Report)),
        }
        if config.runtime_values:
            members["values"] = In(data.ArrayLayout(fmt.word_bits, config.table_size))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.window_store = store = WindowStore(self.config)
        m.submodules.packer = packer = Packer(self.config)
        m.submodules.tally = tally = Tally(self.config)
        wiring.connect(m, wiring.flipped(self.input), store.input)
        wiring.connect(m, store.step, packer.step)
        wiring.connect(m, store.arrival, tally.arrival)
        wiring.connect(m, packer.output, wiring.flipped(self.output))
        wiring.connect(m, tally.report, wiring.flipped(self.report))
        if self.config.runtime_values:
            m.d.comb += store.values.eq(self.values)
        return m
