"""The checker against the rules for descriptors, written down once more in Python's own numbers."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring

from cdma.hdl.axi.gather import EARLY
from cdma.hdl.axi.ports import PortShape
from cdma.hdl.engine.channel.checker import Checker
from cdma.hdl.engine.control.windows import DrivenWindows
from cdma.hdl.spec.records import Mode, RecordOptions, Status
from cdma.hdl.spec.stage import Quantisation
from tests.support.simulate import simulate

_LAST_PAGE = (1 << 52) - 1
_MOST = 1 << 32


@dataclass(frozen=True)
class Case:
    """A request, and the pages of the windows that it meets."""

    source: int = 0x1000
    destination: int = 0x2000
    length: int = 64
    capacity: int = 64
    compressed_length: int = 0
    mode: int = Mode.RAW
    tag: int = 0x12345678
    interrupt: int = 1
    reserved_flags: int = 0
    step: int = 0
    reserved: int = 0
    fault: int = 0
    address: int = 0
    read_window: tuple[int, int] = (0, _LAST_PAGE)
    write_window: tuple[int, int] = (0, _LAST_PAGE)

    def but(self, **changes: Any) -> Case:
        return dataclasses.replace(self, **changes)


@dataclass
class Seen:
    """What a checker put into a slot, and how many cycles that took."""

    status: int
    early: int
    cycles: int
    tag: int
    read: tuple[int, int]
    write: tuple[int, int]
    bytes: int
    objection: int
    words: int
    tail: int


@dataclass
class _Slot:
    """A slot as the checker writes it, byte by byte."""

    numbers: dict[str, bytearray] = field(default_factory=dict)

    def put(self, name: str, place: int, value: int) -> None:
        assert place.bit_count() == 1
        self.numbers.setdefault(name, bytearray(8))[place.bit_length() - 1] = value

    def number(self, name: str) -> int:
        return int.from_bytes(self.numbers.get(name, b""), "little")


def _expected(
    case: Case, compressing: bool, address_bits: int, align: int, stream_word: int, most: int, exact: bool
) -> tuple[int, int]:
    """Status and address: the first rule that is broken."""
    coded = case.mode != Mode.RAW
    known = not (compressing and coded)
    reads_compressed = coded and not compressing
    span = min(case.capacity, 2 * most - 1)
    read = case.compressed_length if reads_compressed else case.length

    def outside(window: tuple[int, int], first: int, count: int) -> bool:
        last = first + count - 1
        return last >> address_bits != 0 or first >> 12 < window[0] or last >> 12 > window[1]

    if case.fault:
        return case.fault, case.address
    if case.reserved or case.reserved_flags or case.mode > max(Mode):
        return Status.RESERVED, 0
    if case.length == 0 or (reads_compressed and case.compressed_length == 0):
        return Status.ZERO_LENGTH, 0
    if (case.length % 4 and not exact) or case.length > most:
        return Status.LENGTH, 0
    if reads_compressed:
        if case.compressed_length % stream_word or case.compressed_length > 2 * most - 1:
            return Status.LENGTH, 0
    elif case.compressed_length:
        return Status.LENGTH, 0
    if case.capacity == 0 or (known and case.length > case.capacity):
        return Status.CAPACITY, (case.destination + case.capacity) % (1 << 64)
    if case.source % align:
        return Status.ALIGNMENT, case.source
    if case.destination % align:
        return Status.ALIGNMENT, case.destination
    if outside(case.read_window, case.source, read):
        return Status.WINDOW, case.source
    if outside(case.write_window, case.destination, span):
        return Status.WINDOW, case.destination
    return Status.OK, 0


def _port(address_bits: int, realign: bool, stream_word: int) -> PortShape:
    return PortShape(
        word_bits=8 * stream_word,
        data_bits=256,
        address_bits=address_bits,
        burst=16,
        outstanding=4,
        buffer=64,
        realign=realign,
    )


def _check(
    cases: list[Case],
    compressing: bool,
    address_bits: int = 64,
    flush_at: dict[int, int] | None = None,
    realign: bool = False,
    stream_word: int = 4,
    pipelined: bool = False,
    form: Quantisation | None = None,
    most: int = _MOST,
    windowed: bool = True,
    exact: bool = False,
) -> list[Seen]:
    """Runs the cases one after the other; ``flush_at`` has the cycle of a case in which to flush, by its number. Words are
    those of 32 bits or the integers of ``form``; with ``exact`` lengths are any number of bytes."""
    port = _port(address_bits, realign, stream_word)
    options = RecordOptions(lossy=form is not None, length_bits=most.bit_length())
    bits = form.bits if form else 32
    dut = Checker(
        port,
        port,
        bits,
        compressing=compressing,
        pipelined=pipelined,
        options=options,
        quantisation=form,
        windowed=windowed,
        stream_bytes=4 if exact else None,
        tail_bits=2 if exact else 0,
    )
    m = Module()
    m.submodules.dut = dut
    m.submodules.windows = windows = DrivenWindows()
    if windowed:
        wiring.connect(m, dut.windows, windows.prefetch)
    seen: list[Seen] = []
    flush_at = dict(flush_at or {})

    async def drive(ctx: Any) -> None:
        ctx.set(dut.run, 1)
        ctx.set(dut.slot.ready, 1)
        for number, case in enumerate(cases):
            fields = dataclasses.asdict(case)
            for name, window in (("read_window", windows.host_window), ("write_window", windows.dev_window)):
                base, limit = fields.pop(name)
                # The low twelve bits say nothing.
                ctx.set(window, {"base": base << 12 | 0xABC, "limit": limit << 12 | 0x123})
            if form is None:
                fields.pop("step")
            fault = {name: fields.pop(name) for name in ("fault", "address")}
            ctx.set(dut.requests.payload, {"descriptor": fields, **fault})
            ctx.set(dut.requests.valid, 1)
            slot, cycles = _Slot(), 0
            while True:
                flushing = flush_at.get(number) == cycles
                ctx.set(dut.flush, flushing)
                cycles += 1
                port = dut.slot
                place, first, last = ctx.get(port.place), ctx.get(port.first), ctx.get(port.last)
                if ctx.get(port.source):
                    slot.put("read_first", place, first)
                    slot.put("read_last", place, last)
                    slot.put("bytes", place, ctx.get(port.count))
                if ctx.get(port.destination):
                    slot.put("write_first", place, first)
                    slot.put("write_last", place, last)
                if ctx.get(port.objection):
                    slot.put("objection", place, last)
                pushed = ctx.get(port.push)
                assert pushed == ctx.get(dut.requests.ready)
                fields_seen, early = ctx.get(port.fields), ctx.get(port.early)
                assert not pushed or ctx.get(port.starts) == (fields_seen.status == Status.OK)
                await ctx.tick()
                if flushing:
                    assert not pushed
                    assert not ctx.get(dut.busy)
                    del flush_at[number]
                    slot, cycles = _Slot(), 0
                if pushed:
                    break
            seen.append(
                Seen(
                    fields_seen.status,
                    early,
                    cycles,
                    fields_seen.tag,
                    (slot.number("read_first"), slot.number("read_last")),
                    (slot.number("write_first"), slot.number("write_last")),
                    slot.number("bytes"),
                    slot.number("objection"),
                    fields_seen.words,
                    ctx.get(port.route).tail if exact else 0,
                )
            )

    simulate(m, drive)
    return seen


def _compare(
    case: Case,
    seen: Seen,
    compressing: bool,
    address_bits: int = 64,
    align: int = 32,
    stream_word: int = 4,
    pipelined: bool = False,
    most: int = _MOST,
    exact: bool = False,
) -> None:
    status, address = _expected(case, compressing, address_bits, align, stream_word, most, exact)
    assert (Status(seen.status), hex(seen.objection)) == (Status(status), hex(address)), case
    assert seen.tag == (0 if case.fault else case.tag)
    assert seen.cycles <= (24 if status == Status.OK else 34)
    if status == Status.OK:
        count = case.compressed_length if case.mode != Mode.RAW and not compressing else case.length
        room = min(case.capacity, 2 * most - 1)
        assert seen.bytes == count
        assert (seen.words, seen.tail) == (-(-case.length // 4), case.length % 4)
        assert seen.read == (case.source, case.source + count - 1)
        assert seen.write == (case.destination, case.destination + room - 1)
        # The beats of the writer have 32 bytes. Words may be anywhere in them, unless these are the alignment.
        roomy = case.destination // 32 % EARLY == 0 and case.capacity >= EARLY * 32
        assert seen.early == (roomy and align == 32)


#: One reason each, in the order in which they count.
_BROKEN: list[dict[str, Any]] = [
    {"fault": Status.FETCH_DECERR, "address": 0x123456789ABCDEF0},
    {"reserved": 1 << 143},
    {"length": 0},
    {"length": 66},
    {"capacity": 60},
    {"source": 0x1010},
    {"destination": 0x2010},
    {"read_window": (2, 9)},
    {"write_window": (3, 9)},
]


#: With the registers that an FPGA needs, and without.
_PIPELINED = pytest.mark.parametrize("pipelined", [False, True], ids=["", "pipelined"])


@pytest.mark.parametrize(("compressing", "pipelined"), [(True, False), (False, True)])
def test_the_first_objection_counts(compressing: bool, pipelined: bool) -> None:
    """Every two reasons together: the one that comes first in the order is reported."""
    cases = [Case()]
    for index, early in enumerate(_BROKEN):
        cases += [Case().but(**{**other, **early}) for other in _BROKEN[index:]]
    for case, seen in zip(cases, _check(cases, compressing, pipelined=pipelined), strict=True):
        _compare(case, seen, compressing, pipelined=pipelined)


def test_every_field_that_is_reserved_and_every_mode() -> None:
    cases = [Case(reserved=1 << bit) for bit in range(144)]
    cases += [Case(reserved_flags=1 << bit) for bit in range(7)]
    cases += [Case(mode=mode) for mode in (1, 2, 3, 4, 255)]
    for case, seen in zip(cases, _check(cases, True), strict=True):
        _compare(case, seen, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compressing", "stream_word", "mode", "pipelined"),
    # Every direction, size of words and mode with both kinds of checkers.
    [
        (True, 4, Mode.RAW, False),
        (True, 4, Mode.ZVC, True),
        (False, 4, Mode.ZVC, False),
        (False, 1, Mode.RAW, True),
        (False, 1, Mode.ZVC, False),
    ],
)
def test_lengths_and_capacities(compressing: bool, stream_word: int, mode: Mode, pipelined: bool) -> None:
    """Around every byte that can carry, and the limits of both."""
    coded = mode != Mode.RAW and not compressing
    cases = []
    for bit in (0, 1, 2, 7, 8, 9, 16, 24, 31, 32, 33, 34, 40, 63):
        for step in (-4, 0, 1):
            number = (1 << bit) + step
            if 0 <= number < 1 << 64:
                base = Case(mode=mode, compressed_length=4 if coded else 0)
                cases.append(base.but(capacity=number, length=0x100))
                cases.append(base.but(capacity=1 << 63, length=number))
                cases.append(base.but(capacity=number, length=number))
                cases.append(base.but(capacity=max(0, number - 1), length=number))
                cases.append(base.but(compressed_length=number))
    for case, seen in zip(
        cases, _check(cases, compressing, stream_word=stream_word, pipelined=pipelined), strict=True
    ):
        _compare(case, seen, compressing, stream_word=stream_word, pipelined=pipelined)


@_PIPELINED
def test_integers_of_half_a_byte(pipelined: bool) -> None:
    """They are as many as the numbers, two to a byte, and the last byte of an odd number is whole."""
    cases = []
    for count in (1, 2, 3, 8, 0xFF, 0x100, 0x1FE, 0x1FF, 0xFFFF, 0x10000, (1 << 24) - 1, (1 << 30) - 1):
        fits = (count + 1) // 2
        for compressed in {fits - 1, fits, fits + 1, fits ^ 0x80, 2 * fits, count} - {0}:
            sizes = {"length": 2 * count, "capacity": 2 * count, "compressed_length": compressed}
            cases.append(Case(**sizes, step=1))
    for case, seen in zip(
        cases,
        _check(cases, False, stream_word=1, pipelined=pipelined, form=Quantisation("bf16", 4)),
        strict=True,
    ):
        numbers = case.length // 2
        fits = case.compressed_length == (numbers + 1) // 2
        assert seen.status == (Status.OK if fits else Status.LENGTH), case
        if fits:
            assert (seen.bytes, seen.words) == (case.compressed_length, numbers), case


def test_words_of_half_a_byte() -> None:
    """Any number of bytes, up to as many words as the codec counts; without a step each has two words."""
    lengths = (1, 2, 3, 255, (1 << 31) - 1, 1 << 31, 1 << 32)
    cases = [Case(length=length, capacity=length) for length in lengths]
    found = _check(cases, True, stream_word=1, form=Quantisation("fp32", 4))
    for length, seen in zip(lengths, found, strict=True):
        assert seen.status == (Status.OK if length < 1 << 31 else Status.LENGTH)
        assert seen.status != Status.OK or seen.words == 2 * length


@pytest.mark.slow
@pytest.mark.parametrize(("address_bits", "pipelined"), [(13, False), (32, True), (40, False), (64, True)])
def test_windows_and_the_end_of_the_address_space(address_bits: int, pipelined: bool) -> None:
    """The first and the last byte at either side of a window's ends, with carries through every byte."""
    rng = random.Random(address_bits)
    pages = 1 << (address_bits - 12)
    cases = []
    for _ in range(100):
        low, high = sorted(rng.randrange(max(1, 1 << rng.randrange(address_bits - 11))) for _ in range(2))
        window = (low, min(high, pages - 1))
        length = rng.choice((4, 32, 4096, 4100, 1 << 16, 1 << 32, rng.randrange(4, 1 << 20, 4)))
        edge = rng.choice((low << 12, (high + 1) << 12, (pages << 12), 0))
        start = edge + rng.choice((0, -length, -length // 32 * 32 - 32, -32, 32, 4096, -4096))
        start = start // 32 * 32 % (1 << 64)
        name, other = rng.choice((("source", "destination"), ("destination", "source")))
        window_name = {"source": "read_window", "destination": "write_window"}[name]
        case = Case(length=length, capacity=length + rng.choice((0, 0, 1, 1 << 40)))
        cases.append(case.but(**{name: start, other: 0, window_name: window}))
    statuses = set()
    for case, seen in zip(cases, _check(cases, True, address_bits, pipelined=pipelined), strict=True):
        _compare(case, seen, True, address_bits, pipelined=pipelined)
        statuses.add(seen.status)
    assert statuses >= {Status.WINDOW, *([Status.OK] if address_bits > 13 else [])}


@pytest.mark.parametrize(("realign", "stream_word"), [(False, 4), (True, 4), (True, 1)])
def test_alignment(realign: bool, stream_word: int) -> None:
    """Every bit of an address below a beat: refused, unless whole stream words are enough; and then the last byte counts,
    not the beat that it lies in."""
    cases = [Case(length=60)]
    for address in (*(1 << bit for bit in range(7)), 3, 28, 31, 0x7FC):
        cases += [Case(source=0x1000 | address, length=60), Case(destination=0x2000 | address, length=60)]
    # The last words up to a window's end, and one more.
    for start in (0x9FC0, 0x9FC4, 0x9FC8):
        cases.append(Case(source=start, length=60, read_window=(1, 9)))
        cases.append(Case(destination=start, length=60, capacity=60, write_window=(1, 9)))
        cases.append(Case(destination=start, length=56, capacity=57, write_window=(1, 9)))
    align = stream_word if realign else 32
    seen = _check(cases, True, realign=realign, stream_word=stream_word)
    for case, each in zip(cases, seen, strict=True):
        _compare(case, each, True, align=align, stream_word=stream_word)
    assert {each.status for each in seen} == {
        Status.OK,
        *([Status.ALIGNMENT] if align > 1 else []),
        *([Status.WINDOW] if realign else []),
    }


@pytest.mark.parametrize("compressing", [True, False], ids=["offload", "prefetch"])
def test_any_byte(compressing: bool) -> None:
    """Addresses and lengths, of which the last word is one; a compressed length is whole stream words."""
    lengths = (*range(1, 10), 0xFFFF, (1 << 32) - 1, 1 << 32, (1 << 32) + 1)
    cases = [Case(length=length, capacity=length) for length in lengths]
    cases += [Case(source=0x1000 + step, destination=0x2003 + step, length=5 + step) for step in range(1, 32)]
    cases += [Case(source=0x9FFD + step, length=3, read_window=(1, 9)) for step in range(2)]
    cases += [
        Case(length=7, mode=Mode.ZVC, compressed_length=0 if compressing else count) for count in range(1, 10)
    ]
    seen = _check(cases, compressing, realign=True, stream_word=1, exact=True)
    for case, each in zip(cases, seen, strict=True):
        _compare(case, each, compressing, align=1, exact=True)
    assert {each.status for each in seen} == {Status.OK, Status.LENGTH, Status.WINDOW}


@_PIPELINED
def test_a_flush_forgets_what_was_begun(pipelined: bool) -> None:
    """At every cycle of a check: afterwards the same request gives the same as ever."""
    cases = [Case(source=0x0FFF_FFFF_FFE0, length=64, tag=number) for number in range(20)]
    cases += [Case(capacity=60, tag=number) for number in range(28)]
    flushes = {number: number if number < 20 else number - 20 for number in range(len(cases))}
    for case, seen in zip(cases, _check(cases, True, flush_at=flushes, pipelined=pipelined), strict=True):
        _compare(case, seen, True, pipelined=pipelined)


def test_waits_for_a_slot_and_for_permission() -> None:
    dut = Checker(_port(64, False, 4), _port(64, False, 4), 32, compressing=True)

    async def drive(ctx: Any) -> None:
        ctx.set(dut.requests.valid, 1)
        for ready, run in ((0, 0), (0, 1), (1, 0)):
            ctx.set(dut.slot.ready, ready)
            ctx.set(dut.run, run)
            await ctx.tick().repeat(40)
            assert not ctx.get(dut.busy)
            assert not ctx.get(dut.slot.begin)
        ctx.set(dut.run, 1)
        assert ctx.get(dut.slot.begin)
        await ctx.tick()
        assert ctx.get(dut.busy)

    simulate(dut, drive)


@pytest.mark.parametrize("compressing", [True, False], ids=["read", "written"])
def test_measured_faults_of_a_shape_refuse_it_in_their_order(compressing: bool) -> None:
    """Of a descriptor without a shape nothing is measured, whatever the measure says."""
    port = _port(64, False, 4)
    dut = Checker(port, port, 32, compressing=compressing, options=RecordOptions(dimensions=1))
    m = Module()
    m.submodules.dut = dut
    m.submodules.windows = windows = DrivenWindows()
    wiring.connect(m, dut.windows, windows.prefetch)
    other = "destination" if compressing else "source"
    lowest = 0x4000
    #: What is measured, what of the descriptor is wrong besides, and the status and address that come of it.
    cases: list[tuple[dict[str, int], dict[str, int], Status, int]] = [
        ({}, {}, Status.OK, 0),
        ({"reserved": 1}, {"length": 0}, Status.RESERVED, 0),
        ({"reserved": 1, "wrong": 1, "beneath": 1}, {}, Status.RESERVED, 0),
        ({"wrong": 1}, {"length": 66}, Status.LENGTH, 0),
        ({"wrong": 1, "beneath": 1}, {"capacity": 0}, Status.SHAPE, 0),
        ({"beneath": 1}, {}, Status.WINDOW, lowest),
        ({"lowest": lowest + 16}, {}, Status.ALIGNMENT, lowest + 16),
        ({"beneath": 1}, {other: 0x2010}, Status.ALIGNMENT, 0x2010),
    ]
    found = []

    async def drive(ctx: Any) -> None:
        ctx.set(dut.run, 1)
        ctx.set(dut.slot.ready, 1)
        for window in (windows.dev_window, windows.host_window):
            ctx.set(window, {"base": 0, "limit": (1 << 64) - 1})
        for shaped in (1, 0):
            for measured, wrong, _, _ in cases:
                fields = {"source": 0x1000, "destination": 0x2000, "length": 64, "capacity": 64} | wrong
                ctx.set(dut.requests.payload, {"descriptor": fields})
                values = {"lowest": lowest, "span": 64, "moved": 64} | measured
                ctx.set(dut.measured, values | {"shaped": shaped})
                ctx.set(dut.requests.valid, 1)
                slot = _Slot()
                while not ctx.get(dut.slot.push):
                    if ctx.get(dut.slot.objection):
                        slot.put("objection", ctx.get(dut.slot.place), ctx.get(dut.slot.last))
                    await ctx.tick()
                found.append((Status(ctx.get(dut.slot.fields.status)), slot.number("objection")))
                await ctx.tick()

    simulate(m, drive)
    for (measured, wrong, status, address), seen in zip(cases, found, strict=False):
        assert seen == (status, address), (measured, wrong)
    plain = {(): Status.OK, ("length", 0): Status.ZERO_LENGTH, ("length", 66): Status.LENGTH}
    plain |= {("capacity", 0): Status.CAPACITY, (other, 0x2010): Status.ALIGNMENT}
    for (measured, wrong, _, _), (got, _) in zip(cases, found[len(cases) :], strict=True):
        assert got is plain[next(iter(wrong.items()), ())], (measured, wrong)


@pytest.mark.parametrize("address_bits", [40, 64])
def test_without_windows_what_the_port_does_not_have_is_outside(address_bits: int) -> None:
    """And lengths have a limit of their own, up to which a capacity counts."""
    end, most = 1 << address_bits, 1 << 16
    cases = [
        Case(length=most, capacity=1 << 40),
        Case(length=most + 4, capacity=1 << 40),
        Case(length=4, capacity=2 * most),
        Case(mode=Mode.ZVC, compressed_length=2 * most - 4),
        Case(mode=Mode.ZVC, compressed_length=2 * most),
        Case(source=end - 64),
        Case(source=end - 32),
        Case(destination=end - 64),
        Case(destination=end - 64, capacity=65),
        Case(source=(1 << 64) - 64),
        Case(),
    ]
    seen = _check(cases, False, address_bits, most=most, windowed=False)
    for case, found in zip(cases, seen, strict=True):
        _compare(case, found, False, address_bits, most=most)
    assert {found.status for found in seen} == {Status.OK, Status.LENGTH, Status.WINDOW}
