"""Counts what is reported of each packet.

In both tallies the counters themselves are the report, for as long as it takes until it is accepted; meanwhile the
packets behind wait. Events are counted a cycle after they happen, so that the long adders start from registers.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .butterfly import log2
from .params import CodecConfig
from .streams import Error, Report
from .window_store import Arrival

__all__ = ["CompressorTally", "DecompressorEvents", "DecompressorTally"]


class CompressorTally(wiring.Component):
    """Counts beats on arrival; the words that come out follow from the words and the literals."""

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {"arrival": In(stream.Signature(Arrival(config.lanes))), "report": Out(stream.Signature(Report))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self.config.format
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
        late = Signal(Arrival(self.config.lanes), reset_less=True)
        counts = Signal()
        with m.If(self.arrival.ready):
            m.d.sync += [
                late.eq(self.arrival.payload),
                counts.eq(self.arrival.valid),
                words.eq(Mux(done, 0, words) + Mux(counts, late.words, 0)),
                literals.eq(Mux(done, 0, literals) + Mux(counts, late.literals, 0)),
                malformed.eq((malformed & ~done) | (counts & late.malformed)),
                done.eq(counts & late.last),
            ]
        return m


class DecompressorEvents(data.StructLayout):
    """What may happen to packets in one cycle.

    ``words_in``, ``malformed``
        Words of the beat that arrived; it belongs to the next packet if that ``starts``, else to the packet in work.
    ``words_out``, ``literals``
        Words delivered in this cycle, of the packet in work, and the literals among them.
    ``finished``, ``error``
        The packet in work is over, and with what error.
    """

    def __init__(self, lanes: int) -> None:
        super().__init__(
            {
                "words_in": range(lanes + 1),
                "malformed": 1,
                "starts": 1,
                "words_out": range(lanes + 1),
                "literals": range(lanes + 1),
                "finished": 1,
                "error": Error,
            }
        )


class DecompressorTally(wiring.Component):
    """Counts the events of packets. While ``stall`` is high, none may happen."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__(
            {
                "events": In(DecompressorEvents(config.lanes)),
                "stall": Out(1),
                "report": Out(stream.Signature(Report)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        late = Signal.like(self.events)
        done = Signal()
        words_in, words_out, literals = Signal(32), Signal(32), Signal(32)
        malformed = Signal()
        error = Signal(Error, reset_less=True)
        # What arrived is counted another cycle later, for it may belong to the packet after the one that is over.
        arrived = Signal.like(late.words_in)
        arrived_malformed = Signal()
        arrived_next = Signal()
        counted = Signal(32)
        tainted = Signal()
        report = self.report.payload
        m.d.comb += [
            self.stall.eq(done & ~self.report.ready),
            counted.eq(words_in + Mux(done & arrived_next, 0, arrived)),
            tainted.eq(malformed | (arrived_malformed & ~(done & arrived_next))),
            self.report.valid.eq(done),
            report.words_in.eq(counted),
            report.words_out.eq(words_out),
            report.literals.eq(literals),
            report.error.eq(Mux(tainted, Error.BEAT, error)),
        ]
        with m.If(~self.stall):
            m.d.sync += [
                late.eq(self.events),
                arrived.eq(late.words_in),
                arrived_malformed.eq(late.malformed),
                arrived_next.eq(late.starts),
                words_in.eq(Mux(done, Mux(arrived_next, arrived, 0), counted)),
                malformed.eq(Mux(done, arrived_next & arrived_malformed, tainted)),
                words_out.eq(Mux(done, 0, words_out) + late.words_out),
                literals.eq(Mux(done, 0, literals) + late.literals),
                error.eq(late.error),
                done.eq(late.finished),
            ]
        return m
