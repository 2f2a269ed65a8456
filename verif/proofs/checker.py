"""The check of a descriptor ends in time, ends as it began, and decides what the documents say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from amaranth.hdl import Assert, C, Cat, Cover, Module, Mux, Signal, Value

from cdma.hdl.axi.ports import PortShape
from cdma.hdl.engine.channel.checker import Checker
from cdma.hdl.engine.channel.tickets import ADDRESS_BYTES, length_bytes
from cdma.hdl.engine.control.interfaces import Window
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import OWNER_FIELDS, owner_mask
from cdma.hdl.spec.records import NO_OPTIONS, Mode, RecordOptions, Status, descriptor_fields, most_bytes

from .bench import Bench, any_windows, fixed, free, last_cycle, obey, started
from .proof import Proof, engine_with

#: Cycles after the one in which a check begins, until that in which it ends: without an objection and with one.
_CHECKED, _OBJECTED = 23, 33
#: The place while nothing is scanned, as a slot sees it.
_AT_REST = 1 << ADDRESS_BYTES - 1
_PAGE_LOG2 = 12


@dataclass(eq=False)
class Resting(Bench):
    """A check ends in time or is dropped, and leaves the checker at rest. Ghost state: ``age``, the cycles since the check
    began."""

    checker: Checker

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.checker
        obey(m, dut.requests, "request")
        for name in ("run", "flush", "windows.base", "windows.limit", "slot.ready"):
            target = dut
            for part in name.split("."):
                target = getattr(target, part)
            free(m, name.replace(".", "_"), target)
        age = Signal(range(_OBJECTED + 2))
        with m.If(dut.flush | dut.slot.push):
            m.d.sync += age.eq(0)
        with m.Elif(dut.slot.begin | (age != 0)):
            m.d.sync += age.eq(age + 1)
        m.d.comb += [
            Assert(age <= _OBJECTED),
            Assert(~(dut.slot.push & dut.slot.starts) | (age <= _CHECKED)),
            Assert(dut.busy == (age != 0)),
            Assert(~dut.slot.begin | (age == 0)),
            Assert(~dut.slot.push | (age != 0)),
            Assert(dut.busy | (dut.slot.place == _AT_REST)),
            Cover(dut.slot.push & (age == _CHECKED)),
            Cover(dut.slot.push & (age == _OBJECTED)),
        ]


class _Verdict(NamedTuple):
    """The outcome of a descriptor: its status, the address with it, the bytes to read, and the bytes that may be written."""

    status: Value
    about: Value
    count: Value
    room: Value


@dataclass(eq=False)
class Deciding(Bench):
    """One check of any descriptor with any windows, or without, after a flush in any state.

    A flush leaves the checker at rest, whatever its data registers have. By :class:`Resting` every check begins so and
    ends within the depth of the proof, so this covers all checks. Ghost state: ``stored`` has what the check writes
    into its slot, byte by byte.
    """

    any_start = True

    checker: Checker

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.checker
        everything = Signal(Window, init={"base": 0, "limit": -1})
        read_window, write_window = everything, everything
        if dut.windowed:
            read_window, write_window = any_windows(m, dut.windows, compressing=dut.rules.compressing)
        m.d.comb += [
            dut.requests.valid.eq(1),
            Value.cast(dut.requests.payload).eq(fixed(m, "request", len(Value.cast(dut.requests.payload)))),
            dut.run.eq(1),
            dut.slot.ready.eq(1),
            dut.flush.eq(~started(m)),
            *self._any_owners(m),
            Assert(started(m) | ~dut.slot.push),
        ]
        self._compare(m, self._judge(m, read_window, write_window))

    def _any_owners(self, m: Module) -> list[Value]:
        """Of a checker with owners: any may be allowed."""
        if not self.checker.options.owner_bits:
            return []
        return [getattr(self.checker, name).eq(fixed(m, name, 32)) for name in ("allowed", "compared")]

    def _owner_objections(self) -> list[tuple[Value, Status, Value | int]]:
        """What the documents say of an owner."""
        dut, descriptor = self.checker, self.checker.requests.payload.descriptor
        fields = dut.options.owner_fields
        if not fields:
            return []
        owner = descriptor.owner
        lacks = (owner & ~owner_mask(fields)) != 0
        lost = owner[: OWNER_FIELDS["stream"][0]].any() & ~owner[OWNER_FIELDS["substream_valid"][0]]
        return [
            (lacks | lost | (~descriptor.owned & owner.any()), Status.RESERVED, 0),
            ((owner & dut.compared) != (dut.allowed & dut.compared), Status.OWNER, 0),
        ]

    def _judge(self, m: Module, read_window: Value, write_window: Value) -> _Verdict:
        dut = self.checker
        request = dut.requests.payload
        descriptor = request.descriptor
        raw = descriptor.mode == Mode.RAW
        compressed = C(0) if dut.rules.compressing else ~raw
        length, of_stream = descriptor.length, descriptor.compressed_length
        bits = dut.options.length_bits
        word = 1 << dut.rules.word_log2
        whole, stream_word = 1 if dut.rules.tail_bits else word, 1 << dut.rules.stream_log2
        count = Signal(64, name="count")
        status = Signal(8, name="status")
        about = Signal(64, name="about")
        m.d.comb += count.eq(Mux(compressed, of_stream, length))
        fields = descriptor_fields(dut.options)
        reserved = Cat(descriptor[field.name] for field in fields if field.reserved).any()
        wrong_source = descriptor.source % (1 << dut.rules.read.align_log2) != 0
        wrong_destination = descriptor.destination % (1 << dut.rules.write.align_log2) != 0
        # No packet has more bytes than this, so a capacity counts as no more.
        room = Mux(descriptor.capacity >> bits != 0, (1 << bits) - 1, descriptor.capacity)
        too_long = length > most_bytes(8 * word, 1 << bits - 1)
        fits_not = length > descriptor.capacity
        if dut.rules.compressing:
            fits_not &= raw
        objections: list[tuple[Value, Status, Value | int]] = [
            (reserved | (descriptor.mode > max(Mode)), Status.RESERVED, 0),
            *self._owner_objections(),
            ((length == 0) | (compressed & (of_stream == 0)), Status.ZERO_LENGTH, 0),
            ((length % whole != 0) | too_long, Status.LENGTH, 0),
            (compressed & ((of_stream % stream_word != 0) | (of_stream >> bits != 0)), Status.LENGTH, 0),
            (~compressed & (of_stream != 0), Status.LENGTH, 0),
            (
                (descriptor.capacity == 0) | fits_not,
                Status.CAPACITY,
                descriptor.destination + descriptor.capacity,
            ),
            (wrong_source, Status.ALIGNMENT, descriptor.source),
            (wrong_destination, Status.ALIGNMENT, descriptor.destination),
            (
                _outside(descriptor.source, count, read_window, dut.rules.read.address_bits),
                Status.WINDOW,
                descriptor.source,
            ),
            (
                _outside(descriptor.destination, room, write_window, dut.rules.write.address_bits),
                Status.WINDOW,
                descriptor.destination,
            ),
        ]
        with m.If(request.fault != Status.OK):
            m.d.comb += [status.eq(request.fault), about.eq(request.address)]
        for wrong, found, address in objections:
            with m.Elif(wrong):
                m.d.comb += [status.eq(found), about.eq(address)]
        return _Verdict(status, about, count, room)

    def _compare(self, m: Module, verdict: _Verdict) -> None:
        """Compares the verdict with the slot, when that is pushed."""
        status, about, count, room = verdict
        dut, slot = self.checker, self.checker.slot
        descriptor = dut.requests.payload.descriptor
        stored = {}
        for kind in ("source", "destination", "objection"):
            for part in ("first", "last", "count"):
                number = Signal(8 * ADDRESS_BYTES, name=f"{kind}_{part}")
                stored[kind, part] = number
                with m.If(getattr(slot, kind)):
                    for place in range(ADDRESS_BYTES):
                        with m.If(slot.place[place]):
                            m.d.sync += number.word_select(place, 8).eq(getattr(slot, part))
        done = Signal()
        with m.If(slot.push):
            m.d.sync += done.eq(1)
        judged = slot.push & ~done
        # The last byte of an objection may be written with the push.
        written = last_cycle(m, judged, "was_judged")
        accepted = written & (status == Status.OK)
        m.d.comb += [
            Assert(~judged | (slot.fields.status == status)),
            Assert(~judged | (slot.starts == (status == Status.OK))),
            Assert(~written | (status == Status.OK) | (stored["objection", "last"] == about)),
            Assert(~judged | (slot.fields.raw == (descriptor.mode == Mode.RAW))),
            Assert(
                ~judged | (slot.fields.tag == Mux(dut.requests.payload.fault == Status.OK, descriptor.tag, 0))
            ),
            Assert(~accepted | (stored["source", "first"] == descriptor.source)),
            Assert(~accepted | (stored["source", "last"] == descriptor.source + count - 1)),
            Assert(~accepted | (stored["source", "count"][: 8 * length_bytes(dut.options)] == count)),
            Assert(~accepted | (stored["destination", "first"] == descriptor.destination)),
            Assert(~accepted | (stored["destination", "last"] == descriptor.destination + room - 1)),
            *self._count_words(judged, descriptor.length),
            *(Cover(judged & (status == found)) for found in _STATUSES),
            *self._given_owner(judged & slot.starts),
            Cover(accepted & (descriptor.capacity >> dut.options.length_bits != 0)),
        ]

    def _count_words(self, judged: Value, length: Value) -> list[Any]:
        """Words, and bytes of the last one, for any number of bytes."""
        dut, route = self.checker, self.checker.slot.route
        if not dut.rules.tail_bits:
            return []
        word = 1 << dut.rules.word_log2
        well = judged & (dut.slot.fields.status == Status.OK)
        return [
            Assert(~well | (route.words == length // word + (length % word != 0))),
            Assert(~well | (route.tail == length % word)),
            Assert(~well | (dut.slot.fields.words == route.words)),
            Cover(well & (route.tail != 0)),
        ]

    def _given_owner(self, given: Value) -> list[Assert | Cover]:
        """The slot has the descriptor's owner, field by field."""
        dut, slot = self.checker, self.checker.slot
        if not dut.options.owner_bits:
            return []
        claims: list[Assert | Cover] = [
            Cover(given & (slot.user != 0)),
            Cover(slot.push & (slot.fields.status == Status.OWNER)),
        ]
        kept = 0
        for lsb, bits in dut.options.owner_fields.values():
            owner = dut.requests.payload.descriptor.owner
            claims.append(Assert(~given | (slot.user[kept : kept + bits] == owner[lsb : lsb + bits])))
            kept += bits
        return claims


#: What a check comes to.
_STATUSES = (
    Status.OK, Status.RESERVED, Status.ZERO_LENGTH, Status.LENGTH, Status.CAPACITY, Status.ALIGNMENT,
    Status.WINDOW,
)  # fmt: skip


def _outside(first: Value, count: Value, window: Value, bits: int) -> Value:
    """Whether a range is outside the window, whose edges are pages, or beyond the port's addresses."""
    end = first + count
    base, limit = Cat(C(0, _PAGE_LOG2), window.base[_PAGE_LOG2:]), window.limit | (1 << _PAGE_LOG2) - 1
    return (first < base) | (end > limit + 1) | (end > 1 << bits)


def _shape(address_bits: int, *, realign: bool = False) -> PortShape:
    """A port of two words of a byte; of its other sizes the checker knows nothing."""
    return PortShape(
        word_bits=8,
        data_bits=16,
        address_bits=address_bits,
        burst=2,
        outstanding=2,
        buffer=8,
        realign=realign,
        span_bits=8,
    )


def _resting() -> Proof:
    return Proof(
        name="checker_rests",
        config="16 bits of address",
        claim="a check that is not given up takes at most 24 cycles if nothing is wrong, and 34 otherwise; it leaves its"
        " place at rest, also if it is given up",
        blocks=(Checker,),
        built_so=engine_with(realign=True, units=True, tails=False),
        bench=lambda: Resting(Checker(_shape(16), _shape(16), 8, compressing=True)),
        cover=_OBJECTED + 3,
        quick=False,
    )


def _deciding(
    config: str,
    *,
    compressing: bool,
    address_bits: int,
    windowed: bool = True,
    options: RecordOptions = NO_OPTIONS,
) -> Proof:
    shape = _shape(address_bits)
    return Proof(
        name="checker_decides",
        config=config,
        claim="of any descriptor, with any windows and owners, the status and the address of the first objection that the"
        " documents name; or the commands cover exactly its source, and its destination up to its capacity, and are of its"
        " owner",
        blocks=(Checker,),
        built_so=engine_with(realign=True, units=True, tails=False, owners=options.owner_bits > 0),
        bench=lambda: Deciding(
            Checker(shape, shape, 8, compressing=compressing, windowed=windowed, options=options)
        ),
        method="bmc",
        depth=_OBJECTED + 5,
        cover=_OBJECTED + 5,
        quick=False,
    )


def _of_bytes(config: str, *, compressing: bool) -> Proof:
    """The same where source, destination and length are any byte: words have four, and so have those of the stream."""
    shape, built_so = _shape(40, realign=True), engine_with(realign=True)
    return replace(
        _deciding(config, compressing=compressing, address_bits=40),
        bench=lambda: Deciding(
            Checker(shape, shape, 32, compressing=compressing, stream_bytes=4, tail_bits=2)
        ),
        built_so=lambda design: (
            isinstance(design, EngineConfig) and built_so(design) and design.tail_bits > 0
        ),
    )


PROOFS = [
    _resting(),
    _deciding("offload, 40 bits of address", compressing=True, address_bits=40),
    _deciding("prefetch, 64 bits of address", compressing=False, address_bits=64),
    _deciding(
        "offload, 40 bits of address, no windows, 64 KiB at most",
        compressing=True,
        address_bits=40,
        windowed=False,
        options=RecordOptions(length_bits=17),
    ),
    _of_bytes("offload, any byte", compressing=True),
    _of_bytes("prefetch, any byte", compressing=False),
    _deciding(
        "offload, 40 bits of address, owners",
        compressing=True,
        address_bits=40,
        options=RecordOptions(stream_id_bits=4, substream_id_bits=8),
    ),
]
