"""The words of records as they are copied between channels, registers and rings."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring

from cdma.hdl.axi.ports import Response
from cdma.hdl.blocks.elaboration import Pace
from cdma.hdl.spec.records import COMPLETION, RecordOptions, Status, completion_fields, descriptor_fields
from cdma.hdl.spec.registers.declare import record_parts
from cdma.hdl.spec.registers.description import RegisterMap
from cdma.hdl.spec.registers.optional import shape_parts

from .messages import RECORD_WORDS, WORD_BITS, Cause, Job
from .ring_port import RingPort
from .slot import Sequencer


def _number_of(name: str) -> int:
    """Number of the word of a completion that holds a field, or its ``_high`` half."""
    field, half = name.removesuffix("_high"), int(name.endswith("_high"))
    return next(f.byte for f in COMPLETION if f.name == field) // 4 + half


class RecordWords:
    """The current word of the sequencer's job: its sources and its destinations.

    ``pipelined``
        Wide records go through registers, for an FPGA.
    ``options``
        The optional fields of the records.
    ``value``, ``number``
        The current word of a completion or of an error, delayed by two cycles.
    """

    def __init__(
        self,
        sequencer: Sequencer,
        ports: Sequence[RingPort],
        registers: RegisterMap,
        *,
        pipelined: bool,
        options: RecordOptions,
    ) -> None:
        self.sequencer = sequencer
        self.ports = ports
        self.registers = registers
        self.pipelined = pipelined
        self.completion = record_parts(completion_fields(options), "result")
        self.descriptor = record_parts(descriptor_fields(options), "flags")
        self.shapes = bool(options.dimensions)
        self.value = Signal(WORD_BITS, reset_less=True)
        self.number = Signal(range(RECORD_WORDS), reset_less=True)

    def of_completion(self, m: Module, address: Value, response: Value) -> None:
        """Selects the word of the completion, or of the error.

        ``address``
            Address of the record that the error is about.
        ``response``
            Response at the port, where the error is one of that.
        """
        sequencer, is_, by = self.sequencer, self.sequencer.is_, self.sequencer.by
        word = sequencer.word
        foreign = is_[Job.LOG] & ~by[Cause.OWN]
        numbers = sorted({part.word for part in self.completion})
        tag, low, high, result = map(_number_of, ("tag", "address", "address_high", "status"))
        terms: list[Value] = []

        def term(name: str, selected: Value, value: Value) -> None:
            select = Signal(name=f"select_{name}", reset_less=True)
            m.d.sync += select.eq(selected)
            terms.append(Mux(select, value, 0))

        for port in self.ports:
            record = port.client.completion.payload.as_value()
            # The completion has been there for some cycles when its job begins.
            record = Pace(m, self.pipelined).late(record, f"{port.name}_record")
            mine = sequencer.channel == port.index
            for number in numbers:
                # The error of a slot that is refused still has the tag of its completion.
                own = ~foreign | (by[Cause.REFUSED] if number == tag else C(0))
                here = record[number * WORD_BITS : (number + 1) * WORD_BITS]
                term(f"{port.name}_{number}", mine & (word == number) & own, here)
            answered = mine & (word == tag) & by[Cause.ANSWER]
            term(f"{port.name}_answered", answered, port.completions.answered_tag)
        term("low", foreign & (word == low), address[:WORD_BITS])
        term("high", foreign & (word == high), address[WORD_BITS:])
        term("status", foreign & (word == result), self._status(m, response))
        phase = sequencer.of_channel(port.completions.phase for port in self.ports)
        term("phase", is_[Job.SEND] & (word == RECORD_WORDS - 1), phase << (WORD_BITS - 1))
        number = Signal.like(self.number)
        m.d.sync += [self.value.eq(reduce(or_, terms)), number.eq(word), self.number.eq(number)]

    def _status(self, m: Module, response: Value) -> Signal:
        """Status of an error that no completion reports."""
        status = Signal(WORD_BITS)
        decerr = response == Response.DECERR
        m.d.comb += status.eq(Status.WATCHDOG)
        with m.If(self.sequencer.by[Cause.REFUSED]):
            m.d.comb += status.eq(Status.WINDOW)
        with m.Elif(self.sequencer.by[Cause.ANSWER]):
            m.d.comb += status.eq(Mux(decerr, Status.COMPLETION_DECERR, Status.COMPLETION_SLVERR))
        return status

    def report(self, m: Module, sink: stream.Interface, free: Value) -> Signal:
        """Writes ``value`` into the registers while ``free`` is high: a completion's word, or an error's. Gives a signal
        that is high once that is done, or if no register has this word. The word must be in hand since the cycle before."""
        is_ = self.sequencer.is_
        m.d.comb += sink.payload.data.eq(self.value)
        shows = {part.word: f"completion_{part.register}" for part in self.completion}
        logs = {
            _number_of("status"): "error",
            _number_of("tag"): "error_tag",
            _number_of("address"): "error_address_low",
            _number_of("address_high"): "error_address_high",
        }
        # There is time for a register before this as well.
        shown = Signal()
        logged = Signal()
        place = Signal(len(self.sequencer.word) + 1, name="reported_place")
        m.d.sync += [
            shown.eq(is_[Job.SHOW]),
            logged.eq(is_[Job.LOG]),
            place.eq(Cat(self.sequencer.word, self.sequencer.channel)),
        ]
        known = Signal()
        known_next = Signal()
        index_next = Signal.like(sink.payload.index)
        m.d.sync += [known.eq(known_next), sink.payload.index.eq(index_next)]
        for job, names in ((shown, shows), (logged, logs)):
            with m.If(job), m.Switch(place):
                for port in self.ports:
                    for number, register in names.items():
                        with m.Case(number | port.index * RECORD_WORDS):
                            m.d.comb += [
                                known_next.eq(1),
                                index_next.eq(self.registers.word(f"{port.name}.{register}")),
                            ]
        reported = Signal()
        m.d.comb += [sink.valid.eq(free & known), reported.eq(free & (~known | sink.ready))]
        return reported

    def fetch_or_push(
        self,
        m: Module,
        stored: wiring.PureInterface,
        given: Value,
        r: stream.Interface,
        landing: stream.Interface,
        moves: Value,
    ) -> None:
        """Gives both fetchers the beat of the bus or, while ``moves`` is high, the word of the pushed descriptor; if
        ``pipelined``, a cycle later, so that the wires to their memories begin in a register.

        One multiplexer serves both channels, so a pushed word waits while the bus has a beat. ``given`` is what ``stored``
        gave. ``landing`` has the data, and the rest of ``r``.
        """
        sequencer = self.sequencer
        names = {part.word: f"push.{part.register}" for part in self.descriptor}
        with m.If(sequencer.is_[Job.PUSH]), m.Switch(sequencer.word):
            for number, name in names.items():
                with m.Case(number):
                    m.d.comb += stored.index.eq(self.registers.word(name))
        fetchers = [port.fetcher for port in self.ports]
        part_bits = fetchers[0].part_bits
        # There is time for a register between the registers' memory, which may be slow, and those of the fetchers.
        pushed = Signal(WORD_BITS, name="pushed_word")
        domain = Pace(m, self.pipelined).d
        domain += pushed.eq(Mux(sequencer.word < len(names), given, 0))
        if max(names) >= len(names):
            # Reserved words stand between them.
            stands = Cat(sequencer.word == number for number in names).any()
            domain += pushed.eq(Mux(stands, given, 0))
        if self.shapes:
            self._extend(m, stored, domain, pushed, given)
        for port in self.ports:
            domain += [
                port.fetcher.word_valid.eq(moves & ~r.valid & (sequencer.channel == port.index)),
                port.fetcher.word.eq(sequencer.word),
            ]
        bus = r.payload.data
        landed = Pace(m, self.pipelined).early(landing.payload, "landed")
        domain += [
            landing.valid.eq(r.valid),
            landed.eq(r.payload),
            landed.data.eq(Mux(r.valid, bus, pushed.replicate(len(bus) // WORD_BITS))),
        ]
        beat = landing.payload.data
        if len(beat) > part_bits:
            upper = Mux(landing.payload.id, fetchers[1].upper, fetchers[0].upper)
            beat = Mux(upper, beat[part_bits:], beat[:part_bits])
        m.d.comb += [fetcher.data.eq(beat) for fetcher in fetchers]

    def _extend(
        self, m: Module, stored: wiring.PureInterface, domain: object, pushed: Signal, given: Value
    ) -> None:
        """Takes the words of an extension from registers of its own."""
        names = {part.word: f"shape.{name}" for name, part in shape_parts()}
        extends = self.sequencer.of_channel(port.fetcher.extends for port in self.ports)
        stands = Signal(name="has_register")
        with m.If(self.sequencer.is_[Job.PUSH] & extends):
            m.d.comb += stored.index.eq(0)
            with m.Switch(self.sequencer.word):
                for number, name in names.items():
                    with m.Case(number):
                        m.d.comb += [stored.index.eq(self.registers.word(name)), stands.eq(1)]
        with m.If(extends):
            domain += pushed.eq(Mux(stands, given, 0))
