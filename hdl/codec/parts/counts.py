"""What codecs count of packets, and the reports that follow."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import WideCounter
from cdma.hdl.blocks.elaboration import copies, flags, optional, sized
from cdma.hdl.blocks.registers import StreamRegister, slice_after
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import StreamFormat

from .interface import Error, Report, first_error
from .network import Arrival, counts_stored, most_stored


class Counts(data.StructLayout):
    """Counts of a packet in a compressor.

    ``words``, ``literals``: Number of raw words, and of literals among them.
    ``stored``: Number of stream words, where they are counted.
    ``malformed``: A beat was malformed.
    """

    def __init__(self, format: StreamFormat) -> None:
        stored = optional(counts_stored(format), stored=32)
        super().__init__({"words": 32, "literals": 32, **stored, "malformed": 1})


class CompressorTally(wiring.Component):
    """Counts the beats of packets.

    ``arrival``: Beats. They wait while counts wait to be accepted.
    ``counts``: Counts of each packet, two cycles after its last beat.

    ``pipelined`` is that of :class:`~cdma.hdl.blocks.arithmetic.WideCounter`.
    """

    def __init__(self, config: CodecConfig, *, pipelined: bool = False) -> None:
        self.config = config
        self.pipelined = pipelined
        super().__init__(
            {
                "arrival": In(stream.Signature(Arrival(config))),
                "counts": Out(stream.Signature(Counts(config.format))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes, fmt = self.config.lanes, self.config.format
        malformed = Signal()
        done = Signal()
        # This is 0 after cycles without a beat.
        late = Signal(Arrival(self.config))
        m.d.comb += [self.counts.valid.eq(done), self.arrival.ready.eq(~done | self.counts.ready)]
        counts: dict[str, Value] = {}
        stored = optional(counts_stored(fmt), stored=most_stored(self.config))
        for name, most in {"words": lanes, "literals": lanes, **stored}.items():
            m.submodules[name] = counter = WideCounter(most, pipelined=self.pipelined)
            counts[name] = counter.value
            m.d.comb += [
                counter.amount.eq(late[name]),
                counter.clear.eq(done),
                counter.hold.eq(~self.arrival.ready),
            ]
        payload = self.counts.payload
        m.d.comb += [
            payload.words.eq(counts["words"]),
            payload.literals.eq(counts["literals"]),
            payload.malformed.eq(malformed),
            *(payload[name].eq(counts[name]) for name in stored),
        ]
        with m.If(self.arrival.ready):
            m.d.sync += [
                late.eq(Mux(self.arrival.valid, Value.cast(self.arrival.payload), 0)),
                malformed.eq((malformed & ~done) | late.malformed),
                done.eq(late.last),
            ]
        return m


class CompressorReport(wiring.Component):
    """Makes the report of a packet from its counts; they give the number of stream words delivered.

    ``counts``, ``report``: Counts and report of each packet, in order.

    Latency: none, or two cycles if ``pipelined``, one for each adder.
    """

    def __init__(self, format: StreamFormat, *, pipelined: bool = False) -> None:
        self.format = format
        self.pipelined = pipelined
        counts = stream.Signature(Counts(format))
        super().__init__({"counts": In(counts), "report": Out(stream.Signature(Report))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        window = exact_log2(self.format.window)
        counted = self.counts.payload
        counts_words = counts_stored(self.format)
        windows = (counted.words >> window) + (counted.words[:window] != 0)
        with_windows = data.StructLayout(
            {"counts": counted.shape(), "windows": 0 if counts_words else 33 - window}
        )
        adding = stream.Signature(with_windows).create(path=("adding",))
        m.d.comb += [
            adding.valid.eq(self.counts.valid),
            self.counts.ready.eq(adding.ready),
            adding.payload.counts.eq(counted),
            *sized(adding.payload.windows.eq(windows)),
        ]
        added = slice_after(m, "windows", adding, kind=StreamRegister, when=self.pipelined)
        summed = stream.Signature(Report).create(path=("summed",))
        report = slice_after(m, "sum", summed, kind=StreamRegister, when=self.pipelined)
        wiring.connect(m, report, wiring.flipped(self.report))
        counts = added.payload.counts
        headers = added.payload.windows * self.format.header_words
        m.d.comb += [
            summed.valid.eq(added.valid),
            added.ready.eq(summed.ready),
            summed.payload.words_in.eq(counts.words),
            summed.payload.words_out.eq(counts.stored if counts_words else counts.literals + headers),
            summed.payload.literals.eq(counts.literals),
            summed.payload.error.eq(first_error((counts.malformed, Error.BEAT))),
        ]
        return m


class DecompressorEvents(data.StructLayout):
    """Events of packets in one cycle.

    ``words_in``, ``malformed``: Number of stream words of the beat that arrives, and whether it is malformed.
    ``starts``: This beat is the first of the next packet. Otherwise it belongs to the packet in flight.
    ``words_out``, ``literals``: Number of words delivered of the packet in flight, and of literals among them.
    ``finished``, ``error``: Ends the packet in flight, with its error.
    """

    def __init__(self, config: CodecConfig) -> None:
        super().__init__(
            {
                "words_in": range(config.units + 1),
                "malformed": 1,
                "starts": 1,
                "words_out": range(config.lanes + 1),
                "literals": range(config.lanes + 1),
                "finished": 1,
                "error": Error,
            }
        )


class DecompressorTally(wiring.Component):
    """Counts the events of packets, and reports each packet.

    ``events``: Events of this cycle.
    ``stall``: A report waits to be accepted. No beat may arrive, no packet may start, and none may finish but with a
        beat that is delivered. One beat may still be delivered, because it may have been offered before.
    ``closing``: ``stall`` may rise in the next cycle.
    ``full``: In addition, such a beat waits to be counted. No other beat may be delivered.
    ``report``: Report of each packet, two cycles after it finished.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {
                "events": In(DecompressorEvents(config)),
                **flags(Out, "stall", "closing", "full"),
                "report": Out(stream.Signature(Report)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        events = self.events
        late = Signal.like(events)
        done = Signal()
        delivered = Signal()
        #: ``done`` and ``delivered``, in a register of its own, because every beat waits for ``full``. Of unknown data
        #: ``done`` alone keeps ``full`` clear.
        both = Signal()
        next_done = Signal()
        next_delivered = Signal()
        m.submodules.words_in = words_in = WideCounter(self.config.units)
        m.submodules.words_out = words_out = WideCounter(self.config.lanes)
        m.submodules.literals = literals = WideCounter(self.config.lanes)
        malformed = Signal()
        error = Signal(Error, reset_less=True)
        # A beat that arrives in the cycle in which the packet before it finishes is counted when that one is reported.
        early = Signal(reset_less=True)
        held = Signal.like(late.words_in)
        held_malformed = Signal()
        report = self.report.payload
        m.d.comb += [
            self.stall.eq(done & ~self.report.ready),
            self.closing.eq(late.finished),
            self.full.eq(both & done & ~self.report.ready),
            next_done.eq(Mux(self.stall, done, late.finished)),
            next_delivered.eq(Mux(self.full, delivered, events.finished | (events.words_out != 0))),
            self.report.valid.eq(done),
            report.words_in.eq(words_in.value),
            report.words_out.eq(words_out.value),
            report.literals.eq(literals.value),
            report.error.eq(first_error((malformed, Error.BEAT), otherwise=error)),
            words_in.first.eq(held),
            words_in.amount.eq(Mux(early, 0, late.words_in)),
            words_out.amount.eq(late.words_out),
            literals.amount.eq(late.literals),
        ]
        for counter in (words_in, words_out, literals):
            m.d.comb += [counter.clear.eq(done), counter.hold.eq(self.stall)]
        with m.If(~self.full):
            m.d.sync += copies(late, events, "words_out", "literals", "finished", "error")
        m.d.sync += [done.eq(next_done), delivered.eq(next_delivered), both.eq(next_done & next_delivered)]
        with m.If(~self.stall):
            m.d.sync += [
                *copies(late, events, "words_in", "malformed"),
                early.eq(events.starts & events.finished),
                held.eq(Mux(early, late.words_in, 0)),
                held_malformed.eq(early & late.malformed),
                malformed.eq((malformed & ~done) | held_malformed | (late.malformed & ~early)),
                error.eq(late.error),
            ]
        return m
