"""Reader and writer against a memory with pauses and faults; our protocol checker sits on every port."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from amaranth.sim import Simulator

from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.verif.monitors.axi import AxiChecker, AxiViolation
from tests.support.axi_bench import GUARD, AxiMemory, send, take
from tests.support.stream_bench import beats_of

#: Data bits, longest burst, and the share of cycles in which a channel rests: bursts of 4 KiB are among them.
_SHAPES = [(64, 16, 0.4), (128, 256, 0.0), (512, 64, 0.0), (1024, 8, 0.4)]


def _reader(data_bits: int, burst: int, outstanding: int = 3, realign: bool = False) -> AxiReader:
    return AxiReader(
        word_bits=32,
        data_bits=data_bits,
        address_bits=20,
        burst=burst,
        outstanding=outstanding,
        buffer=2 * burst,
        realign=realign,
    )


def _writer(data_bits: int, burst: int, outstanding: int = 3, realign: bool = False) -> AxiWriter:
    return AxiWriter(
        word_bits=32,
        data_bits=data_bits,
        address_bits=20,
        burst=burst,
        outstanding=outstanding,
        buffer=2 * burst,
        realign=realign,
    )


async def _outcomes(ctx: Any, dut: AxiReader | AxiWriter, count: int) -> AsyncIterator[tuple[int, int]]:
    """``(response, address noted)`` of so many commands, each in the cycle in which it is done; the address is 0
    where none was noted."""
    outcome, noted = dut.outcome, 0
    while count:
        if ctx.get(outcome.note):
            noted = ctx.get(outcome.address)
        if ctx.get(outcome.done):
            yield ctx.get(outcome.resp).value, noted
            noted = 0
            count -= 1
        await ctx.tick()


def _read(
    dut: AxiReader, memory: AxiMemory, commands: list[tuple[int, int]], stall: float = 0.0
) -> tuple[list[bytes], list[tuple[int, int]]]:
    """Runs commands of ``(address, bytes)``; the packets' bytes, and responses with addresses."""
    rng = random.Random(3)
    packets: list[bytes] = []
    statuses: list[tuple[int, int]] = []

    async def ask(ctx: Any) -> None:
        for address, count in commands:
            await send(ctx, dut.command, {"first": address, "last": address + count - 1})

    async def collect(ctx: Any) -> None:
        for _ in commands:
            packet = b""
            while True:
                while rng.random() < stall:
                    await ctx.tick()
                beat = await take(ctx, dut.output)
                for lane in range(dut.lanes):
                    if beat.keep >> lane & 1:
                        packet += int(beat.data[lane]).to_bytes(4, "little")
                if beat.last:
                    break
            packets.append(packet)

    async def listen(ctx: Any) -> None:
        async for outcome in _outcomes(ctx, dut, len(commands)):
            statuses.append(outcome)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    memory.attach(simulator)
    for process in (ask, collect, listen):
        simulator.add_testbench(process)
    simulator.run()
    return packets, statuses


@pytest.mark.parametrize(("data_bits", "burst", "pause"), _SHAPES)
def test_reader_reads_any_length(data_bits: int, burst: int, pause: float) -> None:
    """Around beats, bursts and pages, from any aligned place: the bytes, in bursts that end at multiples of
    their length.
    """
    rng = random.Random(data_bits)
    beat = data_bits // 8
    dut = _reader(data_bits, burst)
    memory = AxiMemory(read=dut.port, pause=pause, seed=1, longest=burst, outstanding=3)
    memory.bytes[:] = rng.randbytes(len(memory.bytes))
    commands = [(4096 - beat, 4), (4096 - beat, beat), (4096 - beat, beat + 4), (8192 - 4 * beat, 8 * beat)]
    for unit in (beat, beat * burst):
        commands += [(rng.randrange(0, 4096, beat), unit + step) for step in (-4, 0, 4)]
    packets, statuses = _read(dut, memory, commands, stall=pause)
    assert packets == [bytes(memory.bytes[address : address + count]) for address, count in commands]
    assert all(resp == 0 for resp, _ in statuses)
    assert all(address % (burst * beat) + count * beat <= burst * beat for address, count in memory.asked)
    memory.checker.finish()


@pytest.mark.slow
@pytest.mark.parametrize(("data_bits", "burst", "pause"), _SHAPES)
def test_reader_realigns(data_bits: int, burst: int, pause: float) -> None:
    """From every word of a beat, around beats, bursts and pages: the bytes from there on, of no more beats than they
    lie in."""
    rng = random.Random(data_bits)
    beat = data_bits // 8
    block = burst * beat
    dut = _reader(data_bits, burst, realign=True)
    memory = AxiMemory(read=dut.port, pause=pause, seed=1, longest=burst, outstanding=3)
    memory.bytes[:] = rng.randbytes(len(memory.bytes))
    commands = []
    for offset in range(0, beat, 4):
        commands += [(8192 - beat + offset, size) for size in (4, beat - 4, beat, beat + 4, 3 * beat)]
        # To the last word before a burst's end and a page's, and to the first behind it.
        commands += [(end - beat + offset, beat - offset + step) for end in (block, 4096) for step in (0, 4)]
        commands.append((rng.randrange(0, 4096, beat) + offset, block + rng.choice((-4, 0, 4))))
    rng.shuffle(commands)
    packets, statuses = _read(dut, memory, commands, stall=pause)
    assert packets == [bytes(memory.bytes[address : address + count]) for address, count in commands]
    assert all(resp == 0 for resp, _ in statuses)
    assert all(
        address % beat == 0 and address % block + count * beat <= block for address, count in memory.asked
    )
    beats = sum((address + count - 1) // beat - address // beat + 1 for address, count in commands)
    assert sum(count for _, count in memory.asked) == beats
    memory.checker.finish()


def test_reader_that_realigns_reports_the_beat_of_a_fault() -> None:
    """Also of one in the words before the first."""
    dut = _reader(64, 8, realign=True)
    memory = AxiMemory(read=dut.port)
    memory.faults = {8: 2, 140: 3, 256: 2}
    _, statuses = _read(dut, memory, [(12, 100), (116, 20), (124, 20), (132, 124), (252, 8)])
    assert [resp for resp, _ in statuses] == [2, 0, 3, 3, 2]
    assert [noted for resp, noted in statuses if resp] == [8, 136, 136, 256]


def test_reader_reports_the_first_fault_and_goes_on() -> None:
    dut = _reader(64, 8)
    memory = AxiMemory(read=dut.port)
    memory.faults = {40: 3, 100: 2, 308: 2}
    _, statuses = _read(dut, memory, [(0, 200), (200, 40), (256, 128)])
    assert statuses[0] == (3, 40)
    assert statuses[1][0] == 0
    assert statuses[2] == (2, 304)


def test_reader_asks_only_with_room_reserved() -> None:
    """With nobody taking data, no more is asked for than the buffer holds, and the port never waits."""
    dut = _reader(64, 8, outstanding=64)
    memory = AxiMemory(read=dut.port)
    waited = []

    async def drive(ctx: Any) -> None:
        ctx.set(dut.command.payload, {"first": 0, "last": 4095})
        ctx.set(dut.command.valid, 1)
        for _ in range(300):
            waited.append(ctx.get(dut.port.r.valid) and not ctx.get(dut.port.r.ready))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    memory.attach(simulator)
    simulator.add_testbench(drive)
    simulator.run()
    assert sum(count for _, count in memory.asked) == dut.buffer
    assert not any(waited)


def _write(
    dut: AxiWriter,
    memory: AxiMemory,
    packets: list[tuple[int, int, int]],
    stall: float = 0.0,
    empty_end: bool = False,
) -> list[dict[str, int]]:
    """Runs packets of ``(address, words, capacity)``, word n being n + 1; gives the statuses."""
    rng = random.Random(5)
    statuses: list[dict[str, int]] = []
    written: list[int] = []

    async def command(ctx: Any) -> None:
        for address, _, capacity in packets:
            ctx.set(dut.command.payload, {"first": address, "last": address + capacity - 1})
            ctx.set(dut.command.valid, 1)
            end = await ctx.tick().sample(dut.end).until(dut.command.ready)
            ctx.set(dut.command.valid, 0)
            written.append(end[0] - address)

    async def feed(ctx: Any) -> None:
        for _, words, _ in packets:
            beats = beats_of(list(range(1, words + 1)), dut.lanes)
            if empty_end or not beats:
                for beat in beats:
                    beat["last"] = 0
                beats.append({"data": [0] * dut.lanes, "keep": 0, "last": 1})
            for beat in beats:
                while rng.random() < stall:
                    await ctx.tick()
                await send(ctx, dut.input, beat)

    async def collect(ctx: Any) -> None:
        async for resp, address in _outcomes(ctx, dut, len(packets)):
            overflow = ctx.get(dut.overflow)
            fields = {"bytes": written[len(statuses)], "overflow": overflow, "resp": resp, "address": address}
            statuses.append(fields)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    memory.attach(simulator)
    for process in (command, feed, collect):
        simulator.add_testbench(process)
    simulator.run()
    return statuses


@pytest.mark.parametrize(("data_bits", "burst", "pause"), _SHAPES)
def test_writer_writes_any_length(data_bits: int, burst: int, pause: float) -> None:
    """Exactly the words, in as few bursts as boundaries allow, none of them empty."""
    beat = data_bits // 8
    dut = _writer(data_bits, burst)
    memory = AxiMemory(write=dut.port, pause=pause, seed=2, longest=burst, outstanding=3)
    lengths = (
        [beat // 4 + step for step in (-1, 0, 1)] + [beat * burst // 4 + step for step in (-1, 0, 1)] + [1]
    )
    packets, at = [], 4096 - beat
    for words in lengths:
        packets.append((at, words, words * 4))
        at = (at + words * 4 + 2 * beat - 1) // beat * beat + beat
    statuses = _write(dut, memory, packets, stall=pause)
    assert [status["bytes"] for status in statuses] == [4 * words for _, words, _ in packets]
    assert not any(status["overflow"] or status["resp"] for status in statuses)
    block = burst * beat
    bursts = sum((address + 4 * words - 1) // block - address // block + 1 for address, words, _ in packets)
    assert memory.bytes == _expect(memory, packets)
    assert len(memory.written) == bursts
    memory.checker.finish()


def _expect(memory: AxiMemory, packets: list[tuple[int, int, int]]) -> bytearray:
    """What memory holds when so many words of each packet, from its address on, have been written."""
    expected = bytearray([GUARD]) * len(memory.bytes)
    for address, words, _ in packets:
        for word in range(words):
            expected[address + 4 * word : address + 4 * word + 4] = (word + 1).to_bytes(4, "little")
    return expected


@pytest.mark.slow
@pytest.mark.parametrize("empty_end", [False, True])
@pytest.mark.parametrize(("data_bits", "burst", "pause"), _SHAPES)
def test_writer_realigns(data_bits: int, burst: int, pause: float, empty_end: bool) -> None:
    """To every word of a beat, around beats, bursts and pages: these bytes and no other, in as few bursts as boundaries
    allow."""
    rng = random.Random(data_bits)
    beat = data_bits // 8
    block = burst * beat
    dut = _writer(data_bits, burst, realign=True)
    memory = AxiMemory(size=1 << 20, write=dut.port, pause=pause, seed=2, longest=burst, outstanding=3)
    cases = []
    for offset in range(0, beat, 4):
        cases += [(block, beat + offset, size) for size in (0, 4, beat - 4, beat, beat + 4)]
        # To the last word before a burst's end and a page's, and to the first behind it.
        ends = itertools.product((block, 4096), (0, 4))
        cases += [(end, end - beat + offset, beat - offset + step) for end, step in ends]
    cases += [(block, rng.randrange(0, beat, 4), block + step) for step in (-4, 0, 4)]
    rng.shuffle(cases)
    packets, at = [], 0
    for unit, place, size in cases:
        at = -(-at // unit) * unit + place
        packets.append((at, size // 4, max(4, size + rng.choice((0, 0, 2, 4, 4096)))))
        at += size + 4
    assert at < len(memory.bytes)
    statuses = _write(dut, memory, packets, stall=pause, empty_end=empty_end)
    assert [status["bytes"] for status in statuses] == [4 * words for _, words, _ in packets]
    assert not any(status["overflow"] or status["resp"] for status in statuses)
    assert memory.bytes == _expect(memory, packets)
    assert len(memory.written) == sum(
        (address + 4 * words - 1) // block - address // block + 1 for address, words, _ in packets if words
    )
    assert all(address % beat == 0 for address, _ in memory.written)
    memory.checker.finish()


@pytest.mark.slow
@pytest.mark.parametrize("empty_end", [False, True])
@pytest.mark.parametrize("offset", [0, 4, 8, 12])
def test_writer_that_realigns_never_writes_past_the_capacity(offset: int, empty_end: bool) -> None:
    """Every capacity: whole beats of memory, and none at all where the first does not fit; the first byte that was not
    written is told, and the next packet is unharmed."""
    first = 128 + offset
    for capacity in [*range(1, 40), 60, 64, 68, 115, 116, 117, 124, 128, 132]:
        dut = _writer(128, 8, realign=True)
        memory = AxiMemory(write=dut.port, pause=0.3)
        statuses = _write(dut, memory, [(first, 60, capacity), (1028, 3, 12)], empty_end=empty_end)
        fits = max(0, (first + capacity) // 16 * 16 - first)
        assert statuses[0] == {"bytes": fits, "overflow": 1, "resp": 0, "address": first + fits}
        assert statuses[1] == {"bytes": 12, "overflow": 0, "resp": 0, "address": 0}
        assert memory.bytes == _expect(memory, [(first, fits // 4, 0), (1028, 3, 0)])
        memory.checker.finish()


def test_writer_that_realigns_reports_where_a_burst_begins() -> None:
    """The first with its first word."""
    dut = _writer(128, 8, realign=True)
    memory = AxiMemory(write=dut.port)
    memory.faults = {140: 2, 512: 3, 1024: 2}
    statuses = _write(dut, memory, [(132, 40, 4096), (504, 4, 4096), (900, 60, 4096)])
    assert [(status["resp"], status["address"]) for status in statuses] == [(2, 132), (3, 512), (2, 1024)]


@pytest.mark.parametrize("words", [0, 1, 16, 17, 32])
def test_writer_takes_an_empty_last_beat(words: int) -> None:
    """It ends the packet, with no burst of its own: 16 words are one whole burst here."""
    dut = _writer(64, 8)
    memory = AxiMemory(write=dut.port)
    statuses = _write(dut, memory, [(0, words, 4096), (1024, 3, 4096)], empty_end=True)
    assert [status["bytes"] for status in statuses] == [4 * words, 12]
    assert memory.written[:-1] == [
        (64 * n, min(8, -(-(words - 16 * n) // 2))) for n in range(-(-words // 16))
    ]
    memory.checker.finish()


@pytest.mark.parametrize("capacity", [4, 8, 60, 64, 68, 124])
def test_writer_never_writes_past_the_capacity(capacity: int) -> None:
    dut = _writer(64, 8)
    memory = AxiMemory(write=dut.port, pause=0.3)
    statuses = _write(dut, memory, [(64, 40, capacity), (1024, 3, 12)])
    whole = capacity // 8 * 8
    assert statuses[0] == {"bytes": whole, "overflow": 1, "resp": 0, "address": 64 + whole}
    assert statuses[1]["bytes"] == 12
    assert not statuses[1]["overflow"]
    assert set(memory.bytes[64 + whole : 1024]) == {GUARD}


def test_writer_reports_the_first_fault_and_goes_on() -> None:
    dut = _writer(64, 8)
    memory = AxiMemory(write=dut.port)
    memory.faults = {64: 2, 130: 3, 1030: 3}
    statuses = _write(dut, memory, [(0, 80, 4096), (512, 4, 4096), (1024, 4, 4096)])
    assert [(status["resp"], status["bytes"]) for status in statuses] == [(2, 320), (0, 16), (3, 16)]
    assert (statuses[0]["address"], statuses[2]["address"]) == (64, 1024)


@pytest.mark.parametrize("kind", [AxiReader, AxiWriter])
def test_addresses_carry_past_the_bits_that_are_counted(kind: type[AxiReader] | type[AxiWriter]) -> None:
    """Bursts on both sides of a multiple of 2**34, twice: the second command begins anew."""
    dut = kind(word_bits=32, data_bits=64, address_bits=48, burst=8, outstanding=16, buffer=64)
    edge = 5 << 34
    firsts = (edge - 128, edge - 64)
    seen: list[int] = []
    port = dut.port.ar if isinstance(dut, AxiReader) else dut.port.aw

    async def command(ctx: Any) -> None:
        for first in firsts:
            await send(ctx, dut.command, {"first": first, "last": first + 191})

    async def feed(ctx: Any) -> None:
        for _ in firsts:
            for beat in beats_of(list(range(48)), dut.lanes):
                await send(ctx, dut.input, beat)

    async def addresses(ctx: Any) -> None:
        ctx.set(port.ready, 1)
        while len(seen) < 6:
            (payload,) = await ctx.tick().sample(port.payload).until(port.valid)
            seen.append(payload.address)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(command)
    if isinstance(dut, AxiWriter):
        simulator.add_testbench(feed)

        async def accept(ctx: Any) -> None:
            ctx.set(dut.port.w.ready, 1)

        simulator.add_testbench(accept)
    simulator.add_testbench(addresses)
    simulator.run()
    assert seen == [first + offset for first in firsts for offset in (0, 64, 128)]


class TestChecker:
    """Each rule, broken once."""

    def _run(self, cycles: list[dict[str, int]]) -> None:
        now: dict[str, int] = {}
        checker = AxiChecker("port", lambda name: now.get(name, 0), 64, longest=16, outstanding=2)
        for cycle in cycles:
            now.clear()
            now.update(cycle)
            checker.cycle()
        checker.finish()

    _AW = {"awvalid": 1, "awready": 1, "awaddr": 0, "awlen": 1, "awsize": 3, "awburst": 1}
    _AR = {"arvalid": 1, "arready": 1, "araddr": 0, "arlen": 1, "arsize": 3, "arburst": 1}
    _W = {"wvalid": 1, "wready": 1, "wstrb": 0xFF}
    _R = {"rvalid": 1, "rready": 1}
    _B = {"bvalid": 1, "bready": 1}

    def test_accepts_what_is_legal(self) -> None:
        self._run([self._AW, self._W, {**self._W, "wlast": 1}, self._B])
        self._run([{**self._AR, "arready": 0}, self._AR, self._R, {**self._R, "rlast": 1}])

    @pytest.mark.parametrize(
        ("cycles", "message"),
        [
            ([{**_AW, "awready": 0}, {}], "awvalid fell"),
            ([{**_AW, "awready": 0}, {**_AW, "awaddr": 8}], "awaddr changed"),
            ([{**_AW, "awburst": 0}], "not INCR"),
            ([{**_AR, "arsize": 4}], "wider than the port"),
            ([{**_AR, "arlen": 16}], "longer than"),
            ([{**_AR, "araddr": 4}], "not aligned"),
            ([{**_AR, "araddr": 4096 - 8}], "crosses a 4 KiB"),
            ([_AR, {**_R, "rlast": 1}], "rlast is 1 at beat 1 of 2"),
            ([_R], "answers no read"),
            ([_W], "before their address"),
            ([_AW, {**_W, "wstrb": 0}], "has no strobe"),
            ([{**_AW, "awsize": 2}, _W], "outside its 4 bytes"),
            ([_AW, {**_W, "wlast": 1}], "wlast is 1 at beat 1 of 2"),
            ([_AW, _W, _B], "answers no write"),
            ([_AW, _AW, _AW], "more than 2"),
            ([_AR, _AR, _AR], "more than 2"),
            ([_AR], "1 reads and 0 writes are still open"),
        ],
    )
    def test_objects(self, cycles: list[dict[str, int]], message: str) -> None:
        with pytest.raises(AxiViolation, match=message):
            self._run(cycles)
