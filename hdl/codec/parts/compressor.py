"""What both compressors have: which words are literals, how many there are, and the compressor around it."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import WideCounter, one_of
from cdma.hdl.blocks.registers import StreamRegister
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import StreamFormat

from .interface import Error, Report, connect_table, first_error, table_members
from .network import Arrival, counts_stored

__all__ = [
    "Classifier",
    "CompressorReport",
    "CompressorTally",
    "Counts",
    "DecompressorEvents",
    "DecompressorTally",
    "connect_compressor",
    "decoded",
    "field_word",
    "literals_of",
    "rotated",
    "sent_of",
    "table_of",
    "table_word",
]


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


def table_of(component: wiring.PureInterface, config: CodecConfig) -> list[Value]:
    """The entries of the frequent-value table: constants, or the run-time port of ``component``."""
    if config.runtime_values:
        values = component.values
        return [values[entry] for entry in range(config.table_size)]
    return [Value.cast(entry) for entry in config.format.values]


def literals_of(codes: Value, config: CodecConfig) -> Value:
    """Says for each lane of a beat whether its code in ``codes`` is that of a literal."""
    return Cat(codes.word_select(lane, config.format.code_bits).all() for lane in range(config.lanes))


def sent_of(codes: Value, present: Value, config: CodecConfig) -> Value:
    """Says for each stream word of a beat whether the stream has it, by ``codes`` and by which words are ``present``.

    A code says that of each part of its word: of a literal all are in the stream, of a frequent field those outside the
    field, and of zero none.
    """
    fmt = config.format
    literal = literals_of(codes, config)
    if fmt.parts == 1:
        return literal
    outside = fmt.parts - fmt.field_bits // 8
    sent: list[Value] = []
    for lane in range(config.lanes):
        # A word that is not present has code 0, which without ``zero`` is that of a frequent field.
        partly = codes.word_select(lane, fmt.code_bits).any() if fmt.zero else present[lane]
        sent += [*[partly] * outside, *[literal[lane]] * (fmt.parts - outside)]
    return Cat(sent)


def rotated(word: Value, config: CodecConfig) -> Value:
    """The word with its field on top, as the stream has it."""
    return word.rotate_left(config.format.rotate) if config.format.rotate else word


def field_word(code: Value, table: Sequence[Value], parts: Value, config: CodecConfig) -> Value:
    """The word that ``code`` stands for, in a format with a field, from the ``parts`` that the stream has of it.

    The other parts are 0.
    """
    fmt = config.format
    # The codes of the entries follow that of zero, if there is one.
    field = table_word(code, table, int(fmt.zero)) if table else Const(0)
    return (parts | field << (fmt.word_bits - fmt.field_bits))[: fmt.word_bits].rotate_right(fmt.rotate)


def decoded(code: Value, table: Sequence[Value], is_literal: Value, literal: Value) -> Value:
    """The word that ``code`` stands for: ``literal`` if ``is_literal``, or else the entry of ``table``."""
    return Mux(is_literal, literal, 0) | table_word(code, table)


def table_word(code: Value, table: Sequence[Value], first: int = 0) -> Value:
    """The entry of ``table`` that ``code`` stands for, the first of them with the code ``first``; 0 if that is none."""
    return one_of(*((code == entry, value) for entry, value in enumerate(table, first)))


class Classifier(wiring.Component):
    """Compares each word of a beat, or its field, with the table. Combinational, or ``pipelined``: a cycle later, with
    registers after the first level of comparisons.

    ``data``, ``keep``
        Words of the beat, and which of them are valid.
    ``codes``
        Code of each word: that of the lowest entry that equals the word or its field, or all ones if no entry does. A word
        that is not valid has code 0, and so has one of zeros in a format with ``zero``.
    """

    def __init__(self, config: CodecConfig, *, pipelined: bool = False) -> None:
        self.config = config
        self.pipelined = pipelined
        fmt = config.format
        members = {
            "data": In(data.ArrayLayout(fmt.word_bits, config.lanes)),
            "keep": In(config.lanes),
            "codes": Out(data.ArrayLayout(fmt.code_bits, config.lanes)),
        }
        super().__init__({**members, **table_members(config)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self.config.format
        table = table_of(self, self.config)
        keep = self.keep
        if self.pipelined:
            keep = Signal.like(self.keep, name="kept", reset_less=True)
            m.d.sync += keep.eq(self.keep)
        for lane in range(self.config.lanes):
            equal = Signal(len(table), name=f"equal_{lane}")
            field = rotated(self.data[lane], self.config)[fmt.word_bits - fmt.entry_bits :]
            m.d.comb += equal.eq(
                Cat(
                    self._equal(m, field, entry, f"differs_{lane}_{number}")
                    for number, entry in enumerate(table)
                )
            )
            code: Value = Value.cast(fmt.literal_code)
            for entry in reversed(range(len(table))):
                code = Mux(equal[entry], entry + fmt.zero, code)
            if fmt.zero:
                code = Mux(self._equal(m, self.data[lane], Const(0), f"differs_{lane}_zero"), 0, code)
            with m.If(keep[lane]):
                m.d.comb += self.codes[lane].eq(code)
        return m

    def _equal(self, m: Module, word: Value, entry: Value, name: str) -> Value:
        """Whether the two are equal; a register says which parts differ, of as many bits as a look-up table compares."""
        if not self.pipelined:
            return word == entry
        bits = 4 if isinstance(entry, Const) else 2
        starts = range(0, len(word), bits)
        differs = Signal(len(starts), name=name, reset_less=True)
        m.d.sync += differs.eq(Cat(word[at : at + bits] != entry[at : at + bits] for at in starts))
        return ~differs.any()


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
