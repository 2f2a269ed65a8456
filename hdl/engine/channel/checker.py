"""Refuses a descriptor before its first transaction, or hands it to the stages that carry it out."""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.port_shape import PortShape
from cdma.hdl.blocks.gates import one_of
from cdma.hdl.spec.records import DESCRIPTOR, LENGTH_BITS, MAX_BYTES, Mode, Status
from cdma.hdl.spec.registers.description import REGISTER_BYTES

from .descriptor import Request, StatusShape
from .interfaces import WindowPort
from .slots import ADDRESS_BYTES, SlotPort

__all__ = ["Checker"]


class _Steps(NamedTuple):
    """What is scanned: the bytes of one address after the other, the one at ``place`` (one bit per byte)."""

    place: Signal
    destination: Signal
    source: Signal
    objection: Signal


class _About(NamedTuple):
    """What an objection is about: its address is reported. No two are high at once."""

    capacity: Signal
    source: Signal
    destination: Signal
    fault: Signal


class _Sum(NamedTuple):
    """A byte of an address, and of that of its last byte; ``carry`` out of the byte before."""

    first: Signal
    last: Signal
    carry: Signal


class _Findings(NamedTuple):
    """What the scan finds. What it finds of the source is valid one cycle after its last byte."""

    short: Signal
    outside_source: Signal
    outside_destination: Signal


def _byte(value: Value, place: Value) -> Value:
    """The byte of ``value`` at ``place``."""
    count = -(-len(value) // 8)
    return one_of(*((place[index], value[8 * index : 8 * index + 8]) for index in range(count)))


class Checker(wiring.Component):
    """Takes a request at a time, checks it, and pushes it into the next slot: within 20 cycles if there is no objection,
    within 28 otherwise. The request must stay at the input until it is taken.

    Addresses are calculated and compared a byte per cycle, with one adder. The first objection counts, in this
    order: a fault of the fetch, reserved fields, zero length, wrong length, capacity, alignment of the source, of
    the destination, window of the source, of the destination.

    ``read``, ``write``
        The ports of the source and of the destination.
    ``compressing``
        The engine's direction: whether a codec's mode reads ``length`` bytes (or ``compressed_length``).
    ``run``
        Lets a request begin. One that has begun is finished even if it falls.
    ``flush``
        Forgets, while high, a request that has begun; it stays at the input.
    ``busy``
        High while a request is checked.
    """

    def __init__(self, read: PortShape, write: PortShape, *, compressing: bool) -> None:
        self.read = read
        self.write = write
        self.compressing = compressing
        self.word_log2 = read.word_log2
        super().__init__(
            {
                "requests": In(stream.Signature(Request)),
                "slot": Out(SlotPort()),
                "windows": Out(WindowPort()),
                "run": In(1),
                "flush": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        slot = self.slot
        steps = _Steps(
            destination=Signal(name="destination"),
            source=Signal(name="source"),
            objection=Signal(name="objection"),
            place=Signal(ADDRESS_BYTES, init=1, name="place"),
        )
        about = _About(*(Signal(name=f"about_{name}") for name in _About._fields))
        findings = self._scan(m, steps, about)
        status = self._judge(m, about, findings)
        self._sequence(m, steps, status)

        request, descriptor = self.requests.payload, self.requests.payload.descriptor
        raw = descriptor.mode == Mode.RAW
        words = descriptor.length >> self.word_log2
        m.d.comb += [
            self.requests.ready.eq(slot.push),
            slot.place.eq(steps.place),
            slot.source.eq(steps.source),
            slot.destination.eq(steps.destination),
            slot.objection.eq(steps.objection),
            slot.fields.tag.eq(Mux(request.fault == Status.OK, descriptor.tag, 0)),
            slot.fields.interrupt.eq(descriptor.interrupt),
            slot.fields.raw.eq(raw),
            slot.fields.words.eq(words),
            slot.fields.status.eq(status),
            slot.route.raw.eq(raw),
            slot.route.zeros.eq(descriptor.mode == Mode.ZVC),
            slot.route.words.eq(words),
        ]
        return m

    def _sequence(self, m: Module, steps: _Steps, status: Signal) -> None:
        """Goes through the steps: the addresses, the verdict, and the address of an objection."""
        slot, place = self.slot, steps.place
        with m.FSM() as fsm:

            def step(following: str, when: Value | int = 1) -> None:
                with m.If(self.flush):
                    m.next = "wait"
                with m.Elif(when):
                    m.next = following

            m.d.comb += self.busy.eq(~fsm.ongoing("wait"))
            with m.State("wait"), m.If(self.requests.valid & self.run & ~self.flush & slot.ready):
                m.d.comb += slot.begin.eq(1)
                m.next = "destination"
            with m.State("destination"):
                m.d.comb += steps.destination.eq(1)
                step("source", place[-1])
            with m.State("source"):
                m.d.comb += steps.source.eq(1)
                step("settle", place[-1])
            with m.State("settle"):
                step("judge")
            with m.State("judge"):
                step("give")
                with m.If(~self.flush & (status != Status.OK)):
                    m.next = "objection"
            with m.State("objection"):
                m.d.comb += steps.objection.eq(1)
                step("give", place[-1])
            with m.State("give"):
                m.d.comb += slot.push.eq(~self.flush)
                m.next = "wait"
        with m.If(self.flush):
            m.d.sync += place.eq(1)
        with m.Elif(steps.destination | steps.source | steps.objection):
            m.d.sync += place.eq(place.rotate_left(1))

    def _scan(self, m: Module, steps: _Steps, about: _About) -> _Findings:
        """Scans one byte of the addresses at a time."""
        descriptor = self.requests.payload.descriptor
        first_place, last_place = steps.place[0], steps.place[-1]
        length = _byte(descriptor.length[:LENGTH_BITS], steps.place)
        capacity = _byte(descriptor.capacity[:LENGTH_BITS], steps.place)
        short = Signal()
        total = self._add(m, steps, about, length, capacity)

        # The base of a window is compared with the address itself, and the capacity with the length.
        base = Signal(8)
        below = Signal()
        less = Signal()
        under = Signal(9)
        lower = Signal(9)
        m.d.comb += [
            under.eq(total.first - base - (below & ~first_place)),
            lower.eq(capacity - length - (less & ~first_place)),
        ]
        m.d.sync += [below.eq(under[-1]), less.eq(lower[-1])]
        with m.If(steps.destination & last_place):
            m.d.sync += short.eq(lower[-1] & ~descriptor.capacity[LENGTH_BITS:].any())
        outside_source, outside_destination = self._compare_last(m, steps, total, base, below)
        return _Findings(short, outside_source, outside_destination)

    def _add(self, m: Module, steps: _Steps, about: _About, length: Value, capacity: Value) -> _Sum:
        """The address of the first byte, and of the last one: their sum with the number of bytes, less one."""
        request, descriptor, slot = self.requests.payload, self.requests.payload.descriptor, self.slot
        place, destination, source, objection = steps
        compressed = _byte(descriptor.compressed_length[:LENGTH_BITS], place)
        # A capacity that no packet can fill counts as the most that a packet can.
        most = _byte(descriptor.capacity[LENGTH_BITS:].any().replicate(LENGTH_BITS), place)
        compressed_counts = 0 if self.compressing else descriptor.mode != Mode.RAW
        first = Signal(8)
        last = Signal(8)
        count = Signal(8)
        carry = Signal()
        decrement = Signal()
        m.d.comb += [
            first.eq(
                one_of(
                    (
                        destination | (objection & (about.destination | about.capacity)),
                        _byte(descriptor.destination, place),
                    ),
                    (source | (objection & about.source), _byte(descriptor.source, place)),
                    (objection & about.fault, _byte(request.address, place)),
                )
            ),
            count.eq(
                one_of(
                    (destination, capacity | most),
                    (objection & about.capacity, capacity),
                    (source, Mux(compressed_counts, compressed, length)),
                )
            ),
        ]
        # The last byte's address is one less than the sum, which is what the capacity's objection is about.
        borrow = Mux(place[0], ~objection, decrement)
        addend = Signal(9)
        total = Signal(9)
        m.d.comb += [
            addend.eq(count - borrow),
            total.eq(first + addend[:8] + (carry & ~place[0])),
            last.eq(total[:8]),
            slot.first.eq(first),
            slot.last.eq(last),
            slot.count.eq(count),
        ]
        m.d.sync += [carry.eq(total[-1]), decrement.eq(addend[-1])]
        return _Sum(first, last, carry)

    def _compare_last(
        self, m: Module, steps: _Steps, total: _Sum, base: Signal, below: Signal
    ) -> tuple[Signal, Signal]:
        """Compares the sum with the window's limit, a cycle after it is formed; asks for base and limit."""
        place, late_place = steps.place, steps.place.rotate_right(1)
        late_source = Signal()
        late_destination = Signal()
        late_last = Signal(8)
        limit = Signal(8)
        over = Signal(9)
        above = Signal()
        beyond = Signal()
        unreachable = Signal()
        m.d.sync += [
            late_source.eq(steps.source),
            late_destination.eq(steps.destination),
            late_last.eq(total.last),
        ]
        for late, bits in (
            (late_source, self.read.address_bits),
            (late_destination, self.write.address_bits),
        ):
            reachable = _byte(C((1 << bits) - 1, 8 * ADDRESS_BYTES), late_place)
            with m.If(late):
                m.d.comb += unreachable.eq((beyond & ~late_place[0]) | (late_last & ~reachable).any())
        m.d.comb += over.eq(limit - late_last - (above & ~late_place[0]))

        # A half of a window is asked for a cycle ahead; while nothing is checked, the one that is needed first.
        windows = self.windows
        halves = [
            Cat(*pair).any() for pair in zip(place[:REGISTER_BYTES], place[REGISTER_BYTES:], strict=True)
        ]
        late_halves = [*halves[1:], *halves[:1]]
        m.d.comb += [
            windows.at.high.eq(place[REGISTER_BYTES - 1 : -1].any()),
            windows.at.write.eq(~(steps.source | (steps.destination & place[-1]))),
            base.eq(one_of(*((half, windows.base.word_select(n, 8)) for n, half in enumerate(halves)))),
            limit.eq(
                one_of(*((half, windows.limit.word_select(n, 8)) for n, half in enumerate(late_halves)))
            ),
        ]
        m.d.sync += [above.eq(over[-1]), beyond.eq(unreachable)]
        outside_source = Signal()
        outside_destination = Signal()
        with m.If(late_place[-1]):
            outside = below | over[-1] | unreachable | total.carry
            with m.If(late_destination):
                m.d.sync += outside_destination.eq(outside)
            with m.If(late_source):
                m.d.sync += outside_source.eq(outside)
        return outside_source, outside_destination

    def _judge(self, m: Module, about: _About, findings: _Findings) -> Signal:
        """The status of the first objection; drives which address it is about."""
        status = Signal(StatusShape)
        request, descriptor = self.requests.payload, self.requests.payload.descriptor
        length, compressed = descriptor.length, descriptor.compressed_length
        raw = descriptor.mode == Mode.RAW
        reserved = Cat(descriptor[field.name] for field in DESCRIPTOR if field.reserved).any()
        needs_compressed = C(0) if self.compressing else ~raw
        # The codec counts words with 32 bits, so 2**32 words of one byte are one too many.
        most = MAX_BYTES if self.word_log2 else MAX_BYTES - 1
        length_wrong = length[: self.word_log2].any() | (length > most)
        compressed_wrong = compressed[: self.word_log2].any() | compressed[LENGTH_BITS:].any()
        # The bytes that an offload through the codec will take are not known before.
        known = raw if self.compressing else C(1)

        with m.If(request.fault != Status.OK):
            m.d.comb += [status.eq(request.fault), about.fault.eq(1)]
        with m.Elif(reserved | (descriptor.mode > max(Mode))):
            m.d.comb += status.eq(Status.RESERVED)
        with m.Elif((length == 0) | (needs_compressed & (compressed == 0))):
            m.d.comb += status.eq(Status.ZERO_LENGTH)
        with m.Elif(length_wrong | Mux(needs_compressed, compressed_wrong, compressed != 0)):
            m.d.comb += status.eq(Status.LENGTH)
        with m.Elif((known & findings.short) | (descriptor.capacity == 0)):
            m.d.comb += [status.eq(Status.CAPACITY), about.capacity.eq(1)]
        with m.Elif(descriptor.source[: self.read.align_log2].any()):
            m.d.comb += [status.eq(Status.ALIGNMENT), about.source.eq(1)]
        with m.Elif(descriptor.destination[: self.write.align_log2].any()):
            m.d.comb += [status.eq(Status.ALIGNMENT), about.destination.eq(1)]
        with m.Elif(findings.outside_source):
            m.d.comb += [status.eq(Status.WINDOW), about.source.eq(1)]
        with m.Elif(findings.outside_destination):
            m.d.comb += [status.eq(Status.WINDOW), about.destination.eq(1)]
        return status
