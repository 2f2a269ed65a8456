"""The words of records as they are copied between channels, registers and rings."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream

from cdma.hdl.axi.ports import Response
from cdma.hdl.blocks.elaboration import Pace
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.spec.records import COMPLETION, RecordOptions, Status, completion_fields, descriptor_fields
from cdma.hdl.spec.registers.declare import record_parts
from cdma.hdl.spec.registers.description import RegisterMap
from cdma.hdl.spec.registers.optional import shape_parts

from .messages import RECORD_WORDS, WORD_BITS, Cause, Job, select
from .ring_port import RingPort
from .slot import Sequencer
from .store import DescriptorStore, shaped_bit


def _number_of(name: str) -> int:
    """Number of the word of a completion that holds a field, or its ``_high`` half."""
    field, half = name.removesuffix("_high"), int(name.endswith("_high"))
    return next(f.byte for f in COMPLETION if f.name == field) // 4 + half


class RecordWords:
    """The current word of the sequencer's job: its sources and its destinations.

    ``state``: That of the sequencer's queue, a :class:`.QueueState`.
    ``registers``: Those of a pair.
    ``pipelined``: Wide records go through registers, for an FPGA.
    ``options``: The optional fields of the records.
    ``value``, ``number``: The current word of a completion or of an error, delayed by two cycles.
    """

    def __init__(
        self,
        sequencer: Sequencer,
        state: data.View,
        registers: RegisterMap,
        *,
        pipelined: bool,
        options: RecordOptions,
    ) -> None:
        self.sequencer = sequencer
        self.state = state
        self.registers = registers
        self.pipelined = pipelined
        self.completion = record_parts(completion_fields(options), "result")
        self.descriptor = record_parts(descriptor_fields(options), "flags")
        self.shapes = bool(options.dimensions)
        self.value = Signal(WORD_BITS, reset_less=True)
        self.number = Signal(range(RECORD_WORDS), reset_less=True)

    def of_completion(
        self, m: Module, record: Value, phase: Value, answered: Value, address: Value, response: Value
    ) -> None:
        """Selects the word of the completion, or of the error.

        ``record``: The completion of the queue, from the third cycle of a job on.
        ``phase``: The phase bit of the slot that the completion gets.
        ``answered``: The tag of the completion whose write was answered with an error.
        ``address``: Address of the record that the error is about.
        ``response``: Response at the port, where the error is one of that.
        """
        sequencer, is_, by = self.sequencer, self.sequencer.is_, self.sequencer.by
        word = sequencer.word
        foreign = is_[Job.LOG] & ~by[Cause.OWN]
        numbers = sorted({part.word for part in self.completion})
        tag, low, high, result = map(_number_of, ("tag", "address", "address_high", "status"))

        def selected(name: str, when: Value) -> Signal:
            selects = Signal(name=f"select_{name}", reset_less=True)
            m.d.sync += selects.eq(when)
            return selects

        terms = []
        for number in numbers:
            # The error of a slot that is refused still has the tag of its completion.
            own = ~foreign | (by[Cause.REFUSED] if number == tag else C(0))
            here = selected(str(number), (word == number) & own)
            terms.append(Mux(here, record.word_select(number, WORD_BITS), 0))
        for name, when, value in (
            ("answered", (word == tag) & by[Cause.ANSWER], answered),
            ("low", foreign & (word == low), address[:WORD_BITS]),
            ("high", foreign & (word == high), address[WORD_BITS:]),
            ("status", foreign & (word == result), self._status(m, response)),
            ("phase", is_[Job.SEND] & (word == RECORD_WORDS - 1), phase << (WORD_BITS - 1)),
        ):
            terms.append(Mux(selected(name, when), value, 0))
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

    def report(self, m: Module, sink: data.View) -> Signal:
        """Drives ``sink`` with ``value`` and its register; gives a signal that is high if one has this word. The word must
        be in hand since the cycle before."""
        is_ = self.sequencer.is_
        m.d.comb += sink.data.eq(self.value)
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
            place.eq(Cat(self.sequencer.word, self.sequencer.queue[0])),
        ]
        known = Signal()
        known_next = Signal()
        index_next = Signal.like(sink.index)
        m.d.sync += [known.eq(known_next), sink.index.eq(index_next)]
        for job, names in ((shown, shows), (logged, logs)):
            with m.If(job), m.Switch(place):
                for channel, name in enumerate(CHANNELS):
                    for number, register in names.items():
                        with m.Case(number | channel * RECORD_WORDS):
                            m.d.comb += [
                                known_next.eq(1),
                                index_next.eq(self.registers.word(f"{name}.{register}")),
                            ]
        return known

    def fetch_or_push(
        self,
        m: Module,
        index: Signal,
        given: Value,
        r: stream.Interface,
        landing: stream.Interface,
        moves: Value,
        ports: Sequence[RingPort],
        stores: Sequence[DescriptorStore],
    ) -> None:
        """Gives the fetchers and stores the beat of the bus or, while ``moves`` is high, the word of the pushed descriptor;
        if ``pipelined``, a cycle later, so that the wires to the memories begin in a register.

        One multiplexer serves all queues, so a pushed word waits while the bus has a beat. ``index`` asks for a register,
        and ``given`` is what it gave. ``landing`` has the data, and the rest of ``r``.
        """
        sequencer = self.sequencer
        names = {part.word: f"push.{part.register}" for part in self.descriptor}
        with m.If(sequencer.is_[Job.PUSH]), m.Switch(sequencer.word):
            for number, name in names.items():
                with m.Case(number):
                    m.d.comb += index.eq(self.registers.word(name))
        part_bits = stores[0].part_bits
        # There is time for a register between the registers' memory, which may be slow, and those of the stores.
        pushed = Signal(WORD_BITS, name="pushed_word")
        domain = Pace(m, self.pipelined).d
        domain += pushed.eq(Mux(sequencer.word < len(names), given, 0))
        if max(names) >= len(names):
            # Reserved words stand between them.
            stands = Cat(sequencer.word == number for number in names).any()
            domain += pushed.eq(Mux(stands, given, 0))
        if self.shapes:
            self._extend(m, index, domain, pushed, given)
        pushes = Signal(name="word_valid")
        word = Signal.like(sequencer.word, name="pushed_number")
        domain += [pushes.eq(moves & ~r.valid), word.eq(sequencer.word)]
        bus = r.payload.data
        landed = Pace(m, self.pipelined).early(landing.payload, "landed")
        domain += [
            landing.valid.eq(r.valid),
            landed.eq(r.payload),
            landed.data.eq(Mux(r.valid, bus, pushed.replicate(len(bus) // WORD_BITS))),
        ]
        beat = landing.payload.data
        if len(beat) > part_bits:
            upper = select(landing.payload.id, (port.upper for port in ports))
            beat = Mux(upper, beat[part_bits:], beat[:part_bits])
        comes, queue, last = landing.valid, landing.payload.id, landing.payload.last
        for number, port in enumerate(ports):
            m.d.comb += [
                port.beat.eq(comes & (queue == number)),
                port.last.eq(last),
                port.response.eq(landing.payload.resp),
                # The queue of a job does not change in the cycles after its last word.
                port.word_valid.eq(pushes & port.mine),
                port.word.eq(word),
            ]
            if self.shapes:
                m.d.comb += port.shaped.eq(beat[shaped_bit(stores[0].config)[1]])
        for direction, store in enumerate(stores):
            m.d.comb += [
                store.beat.eq(comes & (queue[0] == direction)),
                store.last.eq(last),
                store.lands.eq(queue[1:]),
                store.word_valid.eq(pushes & (sequencer.queue[0] == direction)),
                store.word.eq(word),
                store.works.eq(sequencer.queue[1:]),
                store.data.eq(beat),
            ]

    def _extend(self, m: Module, index: Signal, domain: object, pushed: Signal, given: Value) -> None:
        """Takes the words of an extension from registers of its own."""
        names = {part.word: f"shape.{name}" for name, part in shape_parts()}
        extends = self.state.extends
        stands = Signal(name="has_register")
        with m.If(self.sequencer.is_[Job.PUSH] & extends):
            m.d.comb += index.eq(0)
            with m.Switch(self.sequencer.word):
                for number, name in names.items():
                    with m.Case(number):
                        m.d.comb += [index.eq(self.registers.word(name)), stands.eq(1)]
        with m.If(extends):
            domain += pushed.eq(Mux(stands, given, 0))
