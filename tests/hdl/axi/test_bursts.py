"""Write data behind their addresses: against a count of both. The addresses of bursts, as the reader and the writer put
them out. Reader and writer of packets with a command for each page, which begin and end with any byte.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from cdma.hdl.axi.bursts import AddressFirst
from cdma.hdl.axi.ports import PortShape, WriteData
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.verif.engine.memory import GUARD
from tests.support.axi_bench import AxiMemory, outcomes, port_shape
from tests.support.simulate import simulate
from tests.support.stimuli import send, take
from tests.support.stream_bench import beats_of

MOST = 5


def test_data_pass_after_their_address_and_never_wait_longer() -> None:
    dut = AddressFirst(WriteData(32, 32), MOST)
    source = random.Random(1)

    async def check(ctx: Any) -> None:
        ahead = passed = 0
        for cycle in range(3000):
            # Phases in which addresses, data or the bus are slow.
            likely = (
                (0.9, 0.5, 0.05)[cycle // 100 % 3],
                (0.5, 0.9)[cycle // 300 % 2],
                (1.0, 0.4)[cycle // 50 % 2],
            )
            taken = ahead < MOST and source.random() < likely[0]
            offered, ready = source.random() < likely[1], source.random() < likely[2]
            data, last = source.getrandbits(32), source.random() < 0.4
            ctx.set(dut.taken, taken)
            ctx.set(dut.input.valid, offered)
            ctx.set(dut.input.payload.data, data)
            ctx.set(dut.input.payload.last, last)
            ctx.set(dut.output.ready, ready)
            assert ctx.get(dut.output.valid) == (offered and ahead > 0)
            assert ctx.get(dut.input.ready) == (ready and ahead > 0)
            assert ctx.get(dut.output.payload.data) == data
            assert ctx.get(dut.output.payload.last) == last
            if offered and ready and ahead:
                passed += 1
                ahead -= last
            ahead += taken
            await ctx.tick()
        assert passed > 300

    simulate(dut, check)


def _addresses(dut: AxiReader | AxiWriter, firsts: Sequence[int], bursts: int) -> list[int]:
    """The addresses of the bursts of commands of 192 bytes, which begin there."""
    seen: list[int] = []
    port = dut.port.ar if isinstance(dut, AxiReader) else dut.port.aw

    async def command(ctx: Any) -> None:
        for first in firsts:
            await send(ctx, dut.command, {"first": first, "last": first + 191})

    async def feed(ctx: Any) -> None:
        for _ in firsts:
            for beat in beats_of(list(range(48)), dut.shape.lanes):
                await send(ctx, dut.input, beat)

    async def addresses(ctx: Any) -> None:
        ctx.set(port.ready, 1)
        while len(seen) < bursts:
            (payload,) = await ctx.tick().sample(port.payload).until(port.valid)
            seen.append(payload.address)

    async def accept(ctx: Any) -> None:
        ctx.set(dut.port.w.ready, 1)

    simulate(dut, command, *([feed, accept] if isinstance(dut, AxiWriter) else []), addresses)
    return seen


@pytest.mark.parametrize("kind", [AxiReader, AxiWriter])
def test_addresses_carry_past_the_bits_that_are_counted(kind: type[AxiReader] | type[AxiWriter]) -> None:
    """Bursts on both sides of a multiple of 2**34, twice: the second command begins anew."""
    dut = kind(PortShape(word_bits=32, data_bits=64, address_bits=48, burst=8, outstanding=16, buffer=64))
    edge = 5 << 34
    firsts = (edge - 128, edge - 64)
    assert _addresses(dut, firsts, 6) == [first + offset for first in firsts for offset in (0, 64, 128)]


@pytest.mark.parametrize("kind", [AxiReader, AxiWriter])
def test_commands_that_stay_within_a_multiple(kind: type[AxiReader] | type[AxiWriter]) -> None:
    """Two commands that end with a multiple of 2**8, or begin with it: the bits above are the command's."""
    dut = kind(
        PortShape(
            word_bits=32,
            data_bits=64,
            address_bits=48,
            burst=8,
            outstanding=16,
            buffer=64,
            span_bits=8,
            contained=True,
        )
    )
    assert dut.shape.blocks.block_bits == 2
    edge = 5 << 34
    assert _addresses(dut, [edge - 192, edge], 6) == [edge - 192 + 64 * burst for burst in range(6)]


#: Of these runs of memory; an engine's are of 4 KiB.
PAGE = 64

#: ``(address, bytes)`` of each page of a packet.
Runs = list[tuple[int, int]]


def _shape(*, pipelined: bool, limited: bool) -> PortShape:
    made = port_shape(64, 4, realign=True, pipelined=pipelined)
    return dataclasses.replace(made, word_bits=8, rows=True, limited=limited)


def _packets(rng: random.Random, count: int) -> list[Runs]:
    """Pages anywhere, none of them twice, from any byte of the first one to any byte of the last one; some within a beat."""
    places = rng.sample(range(1, 8192 // PAGE), 8192 // PAGE - 1)
    found = []
    for _ in range(count):
        offset = rng.choice((0, 1, rng.randrange(PAGE), PAGE - 1))
        size = rng.randint(1, rng.choice((7, 3 * PAGE)))
        ends = [*range(PAGE - offset, size, PAGE), size]
        sizes = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
        found.append([(PAGE * places.pop() + (0 if n else offset), each) for n, each in enumerate(sizes)])
    return found


async def _command(ctx: Any, dut: AxiReader | AxiWriter, packets: list[Runs]) -> None:
    for runs in packets:
        for number, (address, size) in enumerate(runs, 1):
            command = {"first": address, "last": address + size - 1, "more": int(number < len(runs))}
            await send(ctx, dut.command, command)


@pytest.mark.parametrize("pipelined", [False, True])
def test_reader_makes_one_packet_of_pages(pipelined: bool) -> None:
    rng = random.Random(3)
    dut = AxiReader(_shape(pipelined=pipelined, limited=False))
    memory = AxiMemory(read=dut.port, pause=0.2, seed=1, longest=4, outstanding=3)
    memory.bytes[:] = rng.randbytes(len(memory.bytes))
    packets = _packets(rng, 40)

    async def collect(ctx: Any) -> None:
        for runs in packets:
            packet, last = b"", 0
            while not last:
                beat = await take(ctx, dut.output)
                packet += bytes(int(beat.data[lane]) for lane in range(8) if beat.keep >> lane & 1)
                last = beat.last
            assert packet == b"".join(bytes(memory.bytes[at : at + size]) for at, size in runs)

    simulate(dut, partial(_command, dut=dut, packets=packets), collect, background=memory.answer)
    assert memory.rules.idle


@pytest.mark.parametrize("pipelined", [False, True])
def test_writer_spreads_a_packet_over_pages(pipelined: bool) -> None:
    """Packets as long as their pages, shorter, and longer: whole beats of memory up to the first that does not fit."""
    rng = random.Random(4)
    dut = AxiWriter(_shape(pipelined=pipelined, limited=True))
    memory = AxiMemory(write=dut.port, pause=0.2, seed=1, longest=4, outstanding=3)
    packets = _packets(rng, 40)
    room = [sum(size for _, size in runs) for runs in packets]
    sizes = [rng.choice((each, each, rng.randint(0, each), each + rng.randint(1, 20))) for each in room]
    expected = bytearray([GUARD]) * len(memory.bytes)
    wanted = []
    for runs, most, size in zip(packets, room, sizes, strict=True):
        offset = runs[0][0] % PAGE
        fits = size if size <= most else max(0, (offset + most) // 8 * 8 - offset)
        data = bytes((index + 1) % 251 for index in range(fits))
        done, lost = 0, 0
        for address, count in runs:
            part = data[done : done + count]
            expected[address : address + len(part)] = part
            if done <= fits:
                lost = address + len(part)
            done += count
        wanted.append({"bytes": fits, "overflow": int(size > most), "address": lost if size > most else 0})

    async def feed(ctx: Any) -> None:
        for size in sizes:
            beats = beats_of([(index + 1) % 251 for index in range(size)], 8)
            for beat in beats or [{"data": [0] * 8, "keep": 0, "last": 1}]:
                while rng.random() < 0.1:
                    await ctx.tick()
                await send(ctx, dut.input, beat)

    async def collect(ctx: Any) -> None:
        left = iter(wanted)
        async for resp, address in outcomes(ctx, dut, len(packets)):
            found = {"bytes": ctx.get(dut.end), "overflow": ctx.get(dut.overflow), "address": address}
            assert (resp, found) == (0, next(left))

    simulate(dut, partial(_command, dut=dut, packets=packets), feed, collect, background=memory.answer)
    assert memory.bytes == expected
    assert memory.rules.idle


def test_writer_reports_where_a_burst_of_pages_begins() -> None:
    """The first with its first word, in whichever page the others are."""
    dut = AxiWriter(_shape(pipelined=False, limited=True))
    memory = AxiMemory(write=dut.port)
    pages = [[(at + 13, PAGE - 13), (2 * at, 20)] for at in (1024, 2048, 3072)]
    memory.spoil({1024 + 20: 2, 2048 + 40: 3, 2 * 3072 + 16: 2})
    found = []

    async def feed(ctx: Any) -> None:
        for _ in pages:
            for beat in beats_of(list(range(1, PAGE + 8)), 8):
                await send(ctx, dut.input, beat)

    async def collect(ctx: Any) -> None:
        async for outcome in outcomes(ctx, dut, len(pages)):
            found.append(outcome)

    simulate(dut, partial(_command, dut=dut, packets=pages), feed, collect, background=memory.answer)
    assert found == [(2, 1024 + 13), (3, 2048 + 32), (2, 2 * 3072)]
