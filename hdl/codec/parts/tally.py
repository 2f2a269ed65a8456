"""Counts what is reported of each packet.

The counters of a tally hold the result of a packet until it is accepted; the next packets wait meanwhile. Events are
counted a cycle after they happen, so that the long adders start from registers.
"""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.counter import WideCounter
from cdma.hdl.blocks.stream_register import StreamRegister
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.stream_format import StreamFormat

from .steps import Arrival, counts_stored
from .streams import Error, Report, first_error

__all__ = ["CompressorReport", "CompressorTally", "Counts", "DecompressorEvents", "DecompressorTally"]


class Counts(data.StructLayout):
    """What a compressor counts of a packet.

    ``words``, ``literals``
        Number of raw words, and of literals among them.
    ``stored``
        Number of stream words stored of them and of padding, where these are not the literals.
    ``malformed``
        Says that a beat was malformed.
    """

    def __init__(self, format: StreamFormat) -> None:
        stored = {"stored": 32} if counts_stored(format) else {}
        super().__init__({"words": 32, "literals": 32, **stored, "malformed": 1})


class CompressorTally(wiring.Component):
    """Counts the beats of packets.

    ``arrival``
        Beats, which wait while counts wait to be accepted.
    ``counts``
        Counts of each packet, two cycles after its last beat.

    ``pipelined`` is that of :class:`~cdma.hdl.blocks.counter.WideCounter`.
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
        m.submodules.words = words = WideCounter(self.config.lanes, pipelined=self.pipelined)
        m.submodules.literals = literals = WideCounter(self.config.lanes, pipelined=self.pipelined)
        malformed = Signal()
        done = Signal()
        counts = self.counts.payload
        # This is 0 after cycles without a beat.
        late = Signal(Arrival(self.config))
        m.d.comb += [
            self.counts.valid.eq(done),
            counts.words.eq(words.value),
            counts.literals.eq(literals.value),
            counts.malformed.eq(malformed),
            self.arrival.ready.eq(~done | self.counts.ready),
            words.amount.eq(late.words),
            literals.amount.eq(late.literals),
        ]
        counters = [words, literals]
        if counts_stored(self.config.format):
            m.submodules.stored = stored = WideCounter(
                self.config.units + self.config.format.align_words - 1, pipelined=self.pipelined
            )
            m.d.comb += [counts.stored.eq(stored.value), stored.amount.eq(late.stored)]
            counters.append(stored)
        for counter in counters:
            m.d.comb += [counter.clear.eq(done), counter.hold.eq(~self.arrival.ready)]
        with m.If(self.arrival.ready):
            m.d.sync += [
                late.eq(Mux(self.arrival.valid, Value.cast(self.arrival.payload), 0)),
                malformed.eq((malformed & ~done) | late.malformed),
                done.eq(late.last),
            ]
        return m


class CompressorReport(wiring.Component):
    """Makes the report of a packet from its counts, from which the number of stream words delivered follows.

    ``counts``, ``report``
        Counts and report of each packet, in order.

    Combinational, or, ``pipelined``, with a latency of two cycles, one for each adder.
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
        with_windows = data.StructLayout({"counts": counted.shape(), "windows": 33 - window})
        adding = stream.Signature(with_windows).create(path=("adding",))
        m.d.comb += [
            adding.valid.eq(self.counts.valid),
            self.counts.ready.eq(adding.ready),
            adding.payload.counts.eq(counted),
            adding.payload.windows.eq((counted.words >> window) + (counted.words[:window] != 0)),
        ]
        summed = stream.Signature(Report).create(path=("summed",))
        if self.pipelined:
            m.submodules.windows = windows = StreamRegister(with_windows)
            m.submodules.sum = total = StreamRegister(Report)
            wiring.connect(m, adding, windows.input)
            wiring.connect(m, summed, total.input)
            wiring.connect(m, total.output, wiring.flipped(self.report))
            adding = windows.output
        else:
            wiring.connect(m, summed, wiring.flipped(self.report))
        counts, report = adding.payload.counts, summed.payload
        stored = counts.stored if counts_stored(self.format) else counts.literals
        m.d.comb += [
            summed.valid.eq(adding.valid),
            adding.ready.eq(summed.ready),
            report.words_in.eq(counts.words),
            report.words_out.eq(stored + adding.payload.windows * self.format.header_words),
            report.literals.eq(counts.literals),
            report.error.eq(first_error((counts.malformed, Error.BEAT))),
        ]
        return m


class DecompressorEvents(data.StructLayout):
    """What may happen to packets in one cycle.

    ``words_in``, ``malformed``
        Number of stream words of the beat that arrived, and whether it was malformed.
    ``starts``
        Says that this beat is the first of the next packet. Otherwise it belongs to the packet in flight.
    ``words_out``, ``literals``
        Number of words delivered of the packet in flight, and of literals among them.
    ``finished``, ``error``
        Ends the packet in flight, with its error.
    """

    def __init__(self, config: CodecConfig) -> None:
        lanes = config.lanes
        super().__init__(
            {
                "words_in": range(config.units + 1),
                "malformed": 1,
                "starts": 1,
                "words_out": range(lanes + 1),
                "literals": range(lanes + 1),
                "finished": 1,
                "error": Error,
            }
        )


class DecompressorTally(wiring.Component):
    """Counts the events of packets, and reports each packet.

    ``events``
        Events of this cycle.
    ``stall``
        Is high while a report waits to be accepted. Then no beat may arrive, no packet may start, and none may finish but
        with a beat that is delivered. One beat may still be delivered, because it may have been offered before.
    ``closing``
        Is high in the cycle before ``stall`` may rise.
    ``full``
        Is high while, in addition, such a beat waits to be counted. Then no other beat may be delivered.
    ``report``
        Report of each packet, two cycles after it finished.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {
                "events": In(DecompressorEvents(config)),
                "stall": Out(1),
                "closing": Out(1),
                "full": Out(1),
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
            m.d.sync += [
                late.words_out.eq(events.words_out),
                late.literals.eq(events.literals),
                late.finished.eq(events.finished),
                late.error.eq(events.error),
            ]
        m.d.sync += [
            done.eq(next_done),
            delivered.eq(next_delivered),
            both.eq(next_done & next_delivered),
        ]
        with m.If(~self.stall):
            m.d.sync += [
                late.words_in.eq(events.words_in),
                late.malformed.eq(events.malformed),
                early.eq(events.starts & events.finished),
                held.eq(Mux(early, late.words_in, 0)),
                held_malformed.eq(early & late.malformed),
                malformed.eq((malformed & ~done) | held_malformed | (late.malformed & ~early)),
                error.eq(late.error),
            ]
        return m
