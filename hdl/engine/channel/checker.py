"""Refuses a descriptor before its first transaction, or hands it to the stages that carry it out."""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.gather import EARLY
from cdma.hdl.axi.ports import PortShape
from cdma.hdl.blocks.arithmetic import one_of
from cdma.hdl.blocks.elaboration import Pace, optional, sized
from cdma.hdl.engine.shapes.segments import Measured
from cdma.hdl.spec.options import PAGE_LOG2
from cdma.hdl.spec.records import (
    NO_OPTIONS,
    Mode,
    RecordOptions,
    Status,
)
from cdma.hdl.spec.registers.description import REGISTER_BYTES
from cdma.hdl.spec.stage import Quantisation

from .facts import Facts, Reading, Rules
from .interfaces import Request, StatusShape, WindowPort, owner_in
from .tickets import ADDRESS_BYTES, SlotPort


class _Steps(NamedTuple):
    """What is scanned: the bytes of one address after the other, the one at ``place`` (one bit per byte)."""

    place: Value
    destination: Signal
    source: Signal
    objection: Signal
    base: Signal


class _About(NamedTuple):
    """What an objection is about: its address is reported. No two are high at once."""

    capacity: Signal
    source: Signal
    destination: Signal
    fault: Signal
    base: Signal


class _Sum(NamedTuple):
    """A byte of an address, and of that of its last byte; ``carry`` out of the byte before."""

    first: Signal
    last: Signal
    carry: Signal


class _Findings(NamedTuple):
    """What the scan finds. What it finds of the source is valid two cycles after its last byte was selected."""

    short: Signal
    outside_source: Signal
    outside_destination: Signal
    outside_base: Signal


def _byte(value: Value, place: Value) -> Value:
    """The byte of ``value`` at ``place``."""
    count = -(-len(value) // 8)
    return one_of(*((place[index], value[8 * index : 8 * index + 8]) for index in range(count)))


class Checker(wiring.Component):
    """Takes a request at a time, checks it, and pushes it into the next slot: within 24 cycles if there is no objection,
    within 34 otherwise. The request must stay at the input until it is taken.

    Addresses are calculated and compared a byte per cycle, with one adder: a byte is selected, then added, and then compared
    with the window's limit. The first objection counts, in this
    order: a fault of the fetch, reserved fields, zero length, wrong length, capacity, alignment of the source, of
    the destination, of the base, window of the source, of the destination, of the base. A base takes eight cycles more.

    ``read``, ``write``: The ports of the source and of the destination.
    ``word_bits``: Bits of a word of raw data.
    ``stream_bytes``: Bytes that a compressed length is a multiple of: by default those of the words that ``read`` has.
    ``tail_bits``: Those of the tail of a route, where a length may be any: see :class:`.Route`. Words are then rounded
        up.
    ``compressing``: The engine's direction: whether a codec's mode reads ``length`` bytes (or ``compressed_length``).
    ``pipelined``: The steps and what is selected go through registers, for an FPGA. A check takes as long without them.
    ``options``: What descriptors may have: a CRC that is to be checked, a step; and the bits of a length.
    ``quantisation``: What is done to numbers where there is a step.
    ``units``, ``stripe_bytes``: The layout of device memory.
    ``windowed``: Addresses are checked against windows. Without, those alone are outside that the port does not have.
    ``run``: Lets a request begin. One that has begun is finished even if it falls.
    ``flush``: Forgets, while high, a request that has begun; it stays at the input.
    ``busy``: High while a request is checked.
    ``allowed``, ``compared``: Of an engine with owners: what that of a descriptor must be, in which bits. It comes
        after reserved fields.
    ``pair``: Whose descriptor it is, of an engine with several pairs where addresses tell that.
    ``measured``: Of an engine with shapes: that of the request, which stands in the place of what lies in device
        memory.
    """

    def __init__(
        self,
        read: PortShape,
        write: PortShape,
        word_bits: int,
        *,
        compressing: bool,
        pipelined: bool = False,
        options: RecordOptions = NO_OPTIONS,
        quantisation: Quantisation | None = None,
        windowed: bool = True,
        stream_bytes: int | None = None,
        tail_bits: int = 0,
        units: int = 1,
        stripe_bytes: int = 0,
    ) -> None:
        self.pipelined = pipelined
        self.windowed = windowed
        self.options = options
        self.rules = Rules(
            read=read,
            write=write,
            word_bits=word_bits,
            stream_bytes=stream_bytes or read.word_bits // 8,
            tail_bits=tail_bits,
            compressing=compressing,
            options=options,
            quantisation=quantisation,
            units=units,
            stripe_bytes=stripe_bytes,
        )
        super().__init__(
            {
                "requests": In(stream.Signature(Request(options))),
                "slot": Out(SlotPort(options, tail_bits)),
                **optional(windowed, windows=Out(WindowPort())),
                "run": In(1),
                "flush": In(1),
                "busy": Out(1),
                **optional(options.owner_bits, allowed=In(32), compared=In(32)),
                "pair": In(options.pair_bits),
                **optional(options.dimensions, measured=In(Measured)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        steps = _Steps(
            destination=Signal(name="destination"),
            source=Signal(name="source"),
            objection=Signal(name="objection"),
            base=Signal(int(self.options.delta), name="base"),
            place=Signal(ADDRESS_BYTES, init=1, name="place"),
        )
        bits = {"base": int(self.options.delta)}
        about = _About(*(Signal(bits.get(name, 1), name=f"about_{name}") for name in _About._fields))
        # It is known in the cycle before it is needed.
        kept = _About(
            *(Signal(bits.get(name, 1), name=f"kept_{name}", reset_less=True) for name in _About._fields)
        )
        m.d.sync += sized(*(register.eq(value) for register, value in zip(kept, about, strict=True)))
        # The state of the checker goes through flip-flops to what it selects.
        scanned = self._late(m, steps, "scanned")
        request, slot = self.requests.payload, self.slot
        measured = self.measured if self.options.dimensions else Signal(Measured, name="no_shape")
        self._reading = reading = Reading(self.rules, request, measured)
        findings = self._scan(m, scanned, kept)
        owners = (self.allowed, self.compared) if self.options.owner_bits else (C(0), C(0))
        facts = reading.find(m, scanned.source, *owners, pipelined=self.pipelined)
        verdict = self._judge(m, about, facts, findings)
        status = self._sequence(m, steps, verdict)

        descriptor, words = request.descriptor, reading.words()
        m.d.comb += [
            self.requests.ready.eq(slot.push),
            slot.fields.tag.eq(Mux(request.fault == Status.OK, descriptor.tag, 0)),
            slot.fields.interrupt.eq(descriptor.interrupt),
            slot.fields.raw.eq(reading.raw),
            slot.fields.words.eq(words),
            slot.fields.status.eq(status),
            slot.fields.lossy.eq(reading.lossy),
            slot.fields.check_crc.eq(reading.field("check_crc")),
            slot.fields.crc.eq(reading.field("crc")),
            slot.route.raw.eq(reading.raw),
            slot.route.zeros.eq(descriptor.mode == Mode.ZVC),
            slot.route.words.eq(words),
            slot.route.tail.eq(descriptor.length),
            *sized(slot.delta.eq(reading.delta), slot.fields.delta.eq(reading.delta)),
            slot.early.eq(self._register(m, "early", self._early(descriptor))),
            slot.step.eq(reading.field("step")),
            slot.shaped.eq(reading.shaped),
            slot.pages.eq(reading.pages[PAGE_LOG2:]),
            slot.user.eq(Cat(owner_in(reading.field("owner"), self.options), self.pair)),
        ]
        return m

    def _sequence(self, m: Module, steps: _Steps, verdict: Signal) -> Signal:
        """Goes through the steps: the addresses, the verdict, and the address of an objection; keeps the verdict."""
        slot, place = self.slot, steps.place
        status = Signal(StatusShape)
        moving = Signal()
        #: A flip-flop for the state of that name.
        gives = Signal()
        m.d.sync += gives.eq(0)
        with m.FSM() as fsm:

            def step(following: str, when: Value | int = 1) -> None:
                with m.If(self.flush):
                    m.next = "wait"
                with m.Elif(when):
                    m.next = following
                    if following == "give":
                        m.d.sync += gives.eq(1)

            begins = self.requests.valid & self.run & ~self.flush & slot.ready
            with m.State("wait"), m.If(begins):
                m.d.comb += slot.begin.eq(1)
                m.next = "destination"
            with m.State("destination"):
                m.d.comb += steps.destination.eq(1)
                step("source", place[-1])
            with m.State("source"):
                m.d.comb += steps.source.eq(1)
                step("add", place[-1])
                if self.options.delta:
                    with m.If(~self.flush & place[-1] & self._reading.delta):
                        m.next = "base"
            if self.options.delta:
                with m.State("base"):
                    m.d.comb += steps.base.eq(1)
                    step("add", place[-1])
            # The last byte is added, and then compared.
            with m.State("add"):
                m.d.comb += moving.eq(1)
                step("scanned")
            with m.State("scanned"):
                step("added")
            with m.State("added"):
                step("compare")
            with m.State("compare"):
                step("judge")
            with m.State("judge"):
                m.d.sync += status.eq(verdict)
                step("judged")
            with m.State("judged"):
                m.d.sync += slot.starts.eq(status == Status.OK)
                step("give")
                with m.If(~self.flush & (status != Status.OK)):
                    m.next = "objection"
                    m.d.sync += gives.eq(0)
            with m.State("objection"):
                m.d.comb += steps.objection.eq(1)
                step("passed", place[-1])
            with m.State("passed"):
                step("objected")
            with m.State("objected"):
                step("give")
            with m.State("give"):
                m.next = "wait"
        m.d.comb += slot.push.eq(gives & ~self.flush)
        # The state itself, from a flip-flop: it decides on the request that it follows from.
        with m.If(fsm.ongoing("wait") & begins):
            m.d.sync += self.busy.eq(1)
        with m.Elif(self.flush | fsm.ongoing("give")):
            m.d.sync += self.busy.eq(0)
        scans = steps.destination | steps.source | steps.objection | moving
        if self.options.delta:
            scans |= steps.base
        with m.If(scans):
            m.d.sync += place.eq(place.rotate_left(1))
        with m.If(self.flush | fsm.ongoing("compare")):
            m.d.sync += place.eq(1)
        return status

    def _early(self, descriptor: data.View) -> Value:
        """Beats of the packet may be written before its command: it begins with a beat of that kind, and has room."""
        write = self.rules.write
        beat_log2 = write.blocks.beat_log2
        if write.realign or write.burst < EARLY:
            return C(0)
        unaligned = descriptor.destination[beat_log2:][: exact_log2(EARLY)].any()
        return ~unaligned & self._reading.capacity()[beat_log2 + exact_log2(EARLY) :].any()

    def _scan(self, m: Module, steps: _Steps, about: _About) -> _Findings:
        """Scans one byte of the addresses at a time."""
        descriptor = self.requests.payload.descriptor
        length = Signal(8, name="byte_of_length")
        capacity = Signal(8, name="byte_of_capacity")
        m.d.comb += [
            length.eq(_byte(descriptor.length[: self.options.length_bits], steps.place)),
            capacity.eq(_byte(self._reading.capacity()[: self.options.length_bits], steps.place)),
        ]
        selected = self._follow(m, steps, "selected")
        adding = self._late(m, selected, "adding")
        # A capacity that no packet can fill counts as the most that a packet can.
        unfillable = self._register(
            m, "unfillable", self._reading.capacity()[self.options.length_bits :].any()
        )
        short = self._compare_length(m, selected if self.pipelined else steps, length, capacity, unfillable)
        first, count = self._select(m, steps, about, length, capacity, unfillable)
        total = self._add(m, selected, adding, first, count)
        below: Value = C(0)
        if self.windowed:
            below = self._compare_first(m, selected.place, adding.place[0], total.first)
        outside = self._compare_last(m, adding, total, below)
        if self.windowed:
            # A half of a window is asked for a cycle ahead.
            reads = steps.source
            if self.options.delta and self.rules.compressing:
                reads = reads | steps.base
            m.d.comb += [
                self.windows.at.high.eq(steps.place[REGISTER_BYTES:].any()),
                self.windows.at.write.eq(~reads),
            ]
        return _Findings(short, *outside)

    def _compare_first(self, m: Module, place: Value, lowest: Value, first: Signal) -> Signal:
        """Compares the address itself with the window's base."""
        below = Signal()
        under = Signal(9)
        base = self._register(m, "base", self._window_byte(self.windows.base, place))
        m.d.comb += under.eq(first - base - (below & ~lowest))
        m.d.sync += below.eq(under[-1])
        return below

    def _late(self, m: Module, steps: _Steps, name: str) -> _Steps:
        """The steps, a cycle later where the checker is ``pipelined``."""
        return self._follow(m, steps, name) if self.pipelined else steps

    def _follow(self, m: Module, steps: _Steps, name: str) -> _Steps:
        """The steps a cycle later."""
        place = self._place_before(m, steps, name)
        flags = _Steps._fields[1:]
        following = _Steps(
            place, *(Signal(len(getattr(steps, flag)), name=f"{name}_{flag}") for flag in flags)
        )
        m.d.sync += sized(
            *(getattr(following, flag).eq(getattr(steps, flag) & ~self.flush) for flag in flags)
        )
        return following

    def _place_before(self, m: Module, steps: _Steps, name: str) -> Value:
        """The place of the cycle before: with registers of its own, where wires are slow."""
        if not self.pipelined:
            return steps.place.rotate_right(1)
        place = Signal(ADDRESS_BYTES, name=f"{name}_place", init=1)
        m.d.sync += place.eq(steps.place)
        return place

    def _register(self, m: Module, name: str, value: Value) -> Value:
        """The value, a cycle later where the checker is ``pipelined``."""
        return Pace(m, self.pipelined).late(value, f"{name}_late")

    def _compare_length(
        self, m: Module, steps: _Steps, length: Value, capacity: Value, unfillable: Value
    ) -> Signal:
        """Compares the length with the capacity."""
        short = Signal()
        less = Signal()
        lower = Signal(9)
        length, capacity = self._register(m, "length", length), self._register(m, "capacity", capacity)
        m.d.comb += lower.eq(capacity - length - (less & ~steps.place[0]))
        m.d.sync += less.eq(lower[-1])
        with m.If(steps.destination & steps.place[-1]):
            m.d.sync += short.eq(lower[-1] & ~unfillable)
        return short

    def _window_byte(self, half: Value, place: Value) -> Value:
        """A byte of half a window."""
        pairs = zip(place[:REGISTER_BYTES], place[REGISTER_BYTES:], strict=True)
        return one_of(*((low | high, half.word_select(n, 8)) for n, (low, high) in enumerate(pairs)))

    def _select(
        self, m: Module, steps: _Steps, about: _About, length: Value, capacity: Value, unfillable: Value
    ) -> tuple[Signal, Signal]:
        """Selects a byte of an address, and of the number that is added to it, for the next cycle."""
        request, descriptor = self.requests.payload, self.requests.payload.descriptor
        destination, source, objection, place = (
            steps.destination,
            steps.source,
            steps.objection,
            steps.place,
        )
        compressed = _byte(descriptor.compressed_length[: self.options.length_bits], place)
        most = _byte(unfillable.replicate(self.options.length_bits), place)
        reading, measured, of_host = self._reading, self._reading.measured, self.rules.of_host
        first = Signal(8, reset_less=True)
        count = Signal(8, reset_less=True)
        taken = Signal(8, reset_less=True)
        read: Value = Mux(reading.stream, compressed, length)
        written: Value = capacity | most
        span, moved = _byte(measured.span, place), _byte(measured.moved, place)
        m.d.sync += taken.eq(of_host(read, Mux(reading.shaped, moved, read)))
        m.d.comb += self.slot.moved.eq(self._register(m, "taken", taken))
        # A shape is in device memory.
        read = of_host(read, Mux(reading.shaped, span, read))
        written = of_host(Mux(reading.shaped, span, written), written)
        base_first, base_count = [], []
        if self.options.delta:
            base_first = [(steps.base | (objection & about.base), _byte(reading.base, place))]
            base_count = [(steps.base, length)]
        m.d.sync += [
            first.eq(
                one_of(
                    (
                        destination | (objection & (about.destination | about.capacity)),
                        _byte(reading.address("destination"), place),
                    ),
                    (source | (objection & about.source), _byte(reading.address("source"), place)),
                    (objection & about.fault, _byte(request.address, place)),
                    *base_first,
                )
            ),
            count.eq(
                one_of(
                    (destination, written),
                    (objection & about.capacity, capacity),
                    (source, read),
                    *base_count,
                )
            ),
        ]
        return first, count

    def _add(self, m: Module, selected: _Steps, steps: _Steps, first: Signal, count: Signal) -> _Sum:
        """The address of the first byte, and of the last one: their sum with the number of bytes, less one."""
        slot, place = self.slot, steps.place
        last = Signal(8)
        carry = Signal()
        decrement = Signal()
        # The last byte's address is one less than the sum, which is what the capacity's objection is about.
        borrow = Mux(selected.place[0], ~selected.objection, decrement)
        addend = Signal(9)
        total = Signal(9)
        m.d.comb += addend.eq(count - borrow)
        m.d.sync += decrement.eq(addend[-1])
        added = self._register(m, "added", addend[:8])
        first, count = self._register(m, "first", first), self._register(m, "count", count)
        m.d.comb += [
            total.eq(first + added + (carry & ~place[0])),
            last.eq(total[:8]),
            slot.place.eq(place),
            slot.source.eq(steps.source),
            slot.destination.eq(steps.destination),
            slot.objection.eq(steps.objection),
            *sized(slot.base.eq(steps.base)),
            slot.first.eq(first),
            slot.last.eq(last),
            slot.count.eq(count),
        ]
        m.d.sync += carry.eq(total[-1])
        return _Sum(first, last, carry)

    def _compare_last(
        self, m: Module, steps: _Steps, total: _Sum, below: Value
    ) -> tuple[Signal, Signal, Signal]:
        """Compares the sum with the window's limit, a cycle after it is formed; whether source, destination and base are
        outside."""
        late_place = self._place_before(m, steps, "compared")
        late_source = Signal()
        late_destination = Signal()
        late_base = Signal(len(steps.base), name="late_base")
        late_last = Signal(8, reset_less=True)
        limit: Value = C(0)
        if self.windowed:
            place = steps.place if self.pipelined else late_place
            limit = self._register(m, "limit", self._window_byte(self.windows.limit, place))
        over = Signal(9)
        above = Signal()
        beyond = Signal()
        unreachable = Signal()
        m.d.sync += [
            late_source.eq(steps.source),
            late_destination.eq(steps.destination),
            *sized(late_base.eq(steps.base)),
            late_last.eq(total.last),
        ]
        # Where there is a list, the first page alone is looked at: all of its bytes are in the same page as the first.
        listed, of_host = self._reading.pages.any(), self.rules.of_host
        with m.If(listed & of_host(steps.source, steps.destination)):
            m.d.sync += late_last.eq(total.first)
        carry = total.carry & ~(listed & of_host(late_source, late_destination))
        read_bits, write_bits = self.rules.read.address_bits, self.rules.write.address_bits
        of_base = [(late_base, self.rules.of_device(read_bits, write_bits))] * self.options.delta
        for late, bits in ((late_source, read_bits), (late_destination, write_bits), *of_base):
            reachable = _byte(C((1 << bits) - 1, 8 * ADDRESS_BYTES), late_place)
            with m.If(late):
                exceeds = (beyond & ~late_place[0]) | (late_last & ~reachable).any()
                m.d.comb += unreachable.eq(exceeds)
        if self.windowed:
            m.d.comb += over.eq(limit - late_last - (above & ~late_place[0]))
            m.d.sync += above.eq(over[-1])
        m.d.sync += beyond.eq(unreachable)
        outside_source = Signal()
        outside_destination = Signal()
        outside_base = Signal(len(late_base), name="outside_base")
        with m.If(late_place[-1]):
            outside = below | over[-1] | unreachable | carry
            with m.If(late_destination):
                m.d.sync += outside_destination.eq(outside)
            with m.If(late_source):
                m.d.sync += outside_source.eq(outside)
            if self.options.delta:
                with m.If(late_base):
                    m.d.sync += outside_base.eq(outside)
        return outside_source, outside_destination, outside_base

    def _judge(self, m: Module, about: _About, facts: Facts, findings: _Findings) -> Signal:
        """The status of the first objection; drives which address it is about."""
        status = Signal(StatusShape)
        request, reading = self.requests.payload, self._reading
        # The bytes that an offload through the codec will take are not known before.
        known = self.rules.of_host(C(1), reading.raw & ~reading.lossy)
        overflows = (known & findings.short) | facts.capacity
        beneath = reading.shaped & reading.measured.beneath
        outside_source = findings.outside_source | self.rules.of_host(C(0), beneath)
        outside_destination = findings.outside_destination | self.rules.of_host(beneath, C(0))
        with m.If(request.fault != Status.OK):
            m.d.comb += [status.eq(request.fault), about.fault.eq(1)]
        with m.Elif(facts.reserved):
            m.d.comb += status.eq(Status.RESERVED)
        with m.Elif(facts.owner):
            m.d.comb += status.eq(Status.OWNER)
        with m.Elif(facts.zero):
            m.d.comb += status.eq(Status.ZERO_LENGTH)
        with m.Elif(facts.length):
            m.d.comb += status.eq(Status.LENGTH)
        with m.Elif(reading.shaped & reading.measured.wrong):
            m.d.comb += status.eq(Status.SHAPE)
        with m.Elif(overflows):
            m.d.comb += [status.eq(Status.CAPACITY), about.capacity.eq(1)]
        with m.Elif(facts.source):
            m.d.comb += [status.eq(Status.ALIGNMENT), about.source.eq(1)]
        with m.Elif(facts.destination):
            m.d.comb += [status.eq(Status.ALIGNMENT), about.destination.eq(1)]
        if self.options.delta:
            with m.Elif(reading.delta & facts.base):
                m.d.comb += [status.eq(Status.ALIGNMENT), about.base.eq(1)]
        with m.Elif(outside_source):
            m.d.comb += [status.eq(Status.WINDOW), about.source.eq(1)]
        with m.Elif(outside_destination):
            m.d.comb += [status.eq(Status.WINDOW), about.destination.eq(1)]
        if self.options.delta:
            with m.Elif(reading.delta & findings.outside_base):
                m.d.comb += [status.eq(Status.WINDOW), about.base.eq(1)]
        return status
