"""The writer against a memory with pauses and faults; the rules of AXI are checked on its port."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from cdma.hdl.axi.writer import AxiWriter
from cdma.verif.engine.memory import GUARD
from tests.support.axi_bench import PORTS, AxiMemory, offsets_in, outcomes, port_shape
from tests.support.simulate import simulate
from tests.support.stimuli import send
from tests.support.stream_bench import beats_of


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
            beats = beats_of(list(range(1, words + 1)), dut.shape.lanes)
            if empty_end or not beats:
                for beat in beats:
                    beat["last"] = 0
                beats.append({"data": [0] * dut.shape.lanes, "keep": 0, "last": 1})
            for beat in beats:
                while rng.random() < stall:
                    await ctx.tick()
                await send(ctx, dut.input, beat)

    async def collect(ctx: Any) -> None:
        async for resp, address in outcomes(ctx, dut, len(packets)):
            overflow = ctx.get(dut.overflow)
            fields = {"bytes": written[len(statuses)], "overflow": overflow, "resp": resp, "address": address}
            statuses.append(fields)

    simulate(dut, command, feed, collect, background=memory.answer)
    return statuses


@pytest.mark.slow
@pytest.mark.parametrize(("data_bits", "burst", "pause", "pipelined"), PORTS)
def test_writer_writes_any_length(data_bits: int, burst: int, pause: float, pipelined: bool) -> None:
    """Exactly the words, in as few bursts as boundaries allow, none of them empty."""
    beat = data_bits // 8
    dut = AxiWriter(port_shape(data_bits, burst, pipelined=pipelined))
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
    assert memory.rules.idle


@pytest.mark.parametrize("pipelined", [False, True])
def test_addresses_do_not_go_farther_ahead_than_their_lengths_are_kept(pipelined: bool) -> None:
    """The memory takes addresses and data of short bursts when it likes: many addresses may come before their data."""
    dut = AxiWriter(port_shape(64, 16, outstanding=8, pipelined=pipelined))
    memory = AxiMemory(write=dut.port, pause=0.6, seed=3, longest=16, outstanding=8)
    packets = [(4096 + 64 * number, 2 + 4 * (number % 3), 64) for number in range(100)]
    statuses = _write(dut, memory, packets)
    assert len(statuses) == len(packets)
    assert not any(status["overflow"] or status["resp"] for status in statuses)
    assert memory.bytes == _expect(memory, packets)
    assert [beats for _, beats in memory.written] == [words // 2 for _, words, _ in packets]
    assert memory.rules.idle


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "pipelined"), [(2, False), (2, True), (6, True), (32, False), (400, False), (400, True)]
)
def test_a_full_buffer_loses_nothing(words: int, pipelined: bool) -> None:
    """Beats and bursts come until none is taken any more, while nothing leaves."""
    dut = AxiWriter(port_shape(64, 16, outstanding=4, pipelined=pipelined))
    memory = AxiMemory(write=dut.port, longest=16, outstanding=4)
    # It takes and gives nothing for hundreds of cycles, again and again.
    memory.rests = lambda cycle: cycle % 400 < 300
    size = -(-words // 2) * 8
    packets = [(4096 + size * number, words, size) for number in range(max(1, 400 // words))]
    statuses = _write(dut, memory, packets)
    assert len(statuses) == len(packets)
    assert not any(status["overflow"] or status["resp"] for status in statuses)
    assert memory.bytes == _expect(memory, packets)
    assert memory.rules.idle


def _expect(memory: AxiMemory, packets: list[tuple[int, int, int]]) -> bytearray:
    """What memory holds when so many words of each packet, from its address on, have been written."""
    expected = bytearray([GUARD]) * len(memory.bytes)
    for address, words, _ in packets:
        for word in range(words):
            expected[address + 4 * word : address + 4 * word + 4] = (word + 1).to_bytes(4, "little")
    return expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data_bits", "burst", "pause", "pipelined", "empty_end"),
    [(*port, empty_end) for port, empty_end in zip(PORTS, (True, True, False, False), strict=True)],
)
def test_writer_realigns(data_bits: int, burst: int, pause: float, pipelined: bool, empty_end: bool) -> None:
    """To words all over a beat, around beats, bursts and pages: these bytes and no other, in as few bursts as boundaries
    allow."""
    rng = random.Random(data_bits)
    beat = data_bits // 8
    block = burst * beat
    dut = AxiWriter(port_shape(data_bits, burst, realign=True, pipelined=pipelined))
    memory = AxiMemory(size=1 << 20, write=dut.port, pause=pause, seed=2, longest=burst, outstanding=3)
    cases = []
    for offset in offsets_in(beat):
        cases += [(block, beat + offset, size) for size in (0, 4, beat - 4, beat, beat + 4)]
        # To the last word before a burst's end and a page's, and to the first after it.
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
    assert memory.rules.idle


@pytest.mark.slow
@pytest.mark.parametrize(("realign", "empty_end"), [(False, False), (True, False), (True, True)])
def test_writer_never_writes_past_the_capacity(realign: bool, empty_end: bool) -> None:
    """Whole beats of memory, and none at all where the first does not fit; the first byte that was not written is reported,
    and the next packet is unharmed."""
    dut = AxiWriter(port_shape(128, 8, realign=realign))
    memory = AxiMemory(write=dut.port, pause=0.3)
    packets, expected, written = [], [], []
    capacities = (1, 3, 4, 5, 11, 12, 13, 15, 16, 17, 19, 31, 32, 33, 60, 64, 68, 116, 128, 132)
    places = itertools.product((0, 4, 8, 12) if realign else (0,), capacities)
    for number, (offset, capacity) in enumerate(places):
        first, second = 512 * number + 128 + offset, 512 * number + 384 + 4 * realign
        fits = max(0, (offset + capacity) // 16 * 16 - offset)
        packets += [(first, 60, capacity), (second, 3, 12)]
        expected.append({"bytes": fits, "overflow": 1, "resp": 0, "address": first + fits})
        expected.append({"bytes": 12, "overflow": 0, "resp": 0, "address": 0})
        written += [(first, fits // 4, 0), (second, 3, 0)]
    assert _write(dut, memory, packets, empty_end=empty_end) == expected
    assert memory.bytes == _expect(memory, written)
    assert memory.rules.idle


def test_writer_that_realigns_reports_where_a_burst_begins() -> None:
    """The first with its first word."""
    dut = AxiWriter(port_shape(128, 8, realign=True))
    memory = AxiMemory(write=dut.port)
    memory.spoil({140: 2, 512: 3, 1024: 2})
    statuses = _write(dut, memory, [(132, 40, 4096), (504, 4, 4096), (900, 60, 4096)])
    assert [(status["resp"], status["address"]) for status in statuses] == [(2, 132), (3, 512), (2, 1024)]


@pytest.mark.parametrize("words", [0, 1, 16, 17, 32])
def test_writer_takes_an_empty_last_beat(words: int) -> None:
    """It ends the packet, with no burst of its own: 16 words are one whole burst here."""
    dut = AxiWriter(port_shape(64, 8))
    memory = AxiMemory(write=dut.port)
    statuses = _write(dut, memory, [(0, words, 4096), (1024, 3, 4096)], empty_end=True)
    assert [status["bytes"] for status in statuses] == [4 * words, 12]
    assert memory.written[:-1] == [
        (64 * n, min(8, -(-(words - 16 * n) // 2))) for n in range(-(-words // 16))
    ]
    assert memory.rules.idle


def test_writer_reports_the_first_fault_and_goes_on() -> None:
    dut = AxiWriter(port_shape(64, 8))
    memory = AxiMemory(write=dut.port)
    memory.spoil({64: 2, 130: 3, 1030: 3})
    statuses = _write(dut, memory, [(0, 80, 4096), (512, 4, 4096), (1024, 4, 4096)])
    assert [(status["resp"], status["bytes"]) for status in statuses] == [(2, 320), (0, 16), (3, 16)]
    assert (statuses[0]["address"], statuses[2]["address"]) == (64, 1024)
