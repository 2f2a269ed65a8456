"""The reader against a memory with pauses and faults; the rules of AXI are checked on its port."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from cdma.hdl.axi.reader import AxiReader
from tests.support.axi_bench import PORTS, AxiMemory, offsets_in, outcomes, port_shape
from tests.support.simulate import simulate
from tests.support.stimuli import send, take


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
                for lane in range(dut.shape.lanes):
                    if beat.keep >> lane & 1:
                        packet += int(beat.data[lane]).to_bytes(dut.shape.word_bits // 8, "little")
                    else:
                        assert not (dut.shape.clears and beat.data[lane])
                if beat.last:
                    break
            packets.append(packet)

    async def listen(ctx: Any) -> None:
        async for outcome in outcomes(ctx, dut, len(commands)):
            statuses.append(outcome)

    simulate(dut, ask, collect, listen, background=memory.answer)
    return packets, statuses


@pytest.mark.parametrize(("data_bits", "burst", "pause", "pipelined"), PORTS)
def test_reader_reads_any_length(data_bits: int, burst: int, pause: float, pipelined: bool) -> None:
    """Around beats, bursts and pages, from any aligned address: the bytes, in bursts that end at multiples of
    their length.
    """
    rng = random.Random(data_bits)
    beat = data_bits // 8
    dut = AxiReader(port_shape(data_bits, burst, pipelined=pipelined))
    memory = AxiMemory(read=dut.port, pause=pause, seed=1, longest=burst, outstanding=3)
    memory.bytes[:] = rng.randbytes(len(memory.bytes))
    commands = [(4096 - beat, 4), (4096 - beat, beat), (4096 - beat, beat + 4), (8192 - 4 * beat, 8 * beat)]
    for unit in (beat, beat * burst):
        commands += [(rng.randrange(0, 4096, beat), unit + step) for step in (-4, 0, 4)]
    packets, statuses = _read(dut, memory, commands, stall=pause)
    assert packets == [bytes(memory.bytes[address : address + count]) for address, count in commands]
    assert all(resp == 0 for resp, _ in statuses)
    assert all(address % (burst * beat) + count * beat <= burst * beat for address, count in memory.asked)
    assert memory.rules.idle


@pytest.mark.slow
@pytest.mark.parametrize(("data_bits", "burst", "pause", "pipelined"), PORTS)
def test_reader_realigns(data_bits: int, burst: int, pause: float, pipelined: bool) -> None:
    """From words all over a beat, around beats, bursts and pages: the bytes from there on, in no more beats than they lie
    in."""
    rng = random.Random(data_bits)
    beat = data_bits // 8
    block = burst * beat
    dut = AxiReader(port_shape(data_bits, burst, realign=True, pipelined=pipelined))
    memory = AxiMemory(read=dut.port, pause=pause, seed=1, longest=burst, outstanding=3)
    memory.bytes[:] = rng.randbytes(len(memory.bytes))
    commands = []
    for offset in offsets_in(beat):
        commands += [(8192 - beat + offset, size) for size in (4, beat - 4, beat, beat + 4, 3 * beat)]
        # To the last word before a burst's end and a page's, and to the first after it.
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
    assert memory.rules.idle


@pytest.mark.parametrize("pipelined", [False, True])
def test_reader_clears_what_lies_behind_the_last_byte(pipelined: bool) -> None:
    """Of packets that begin and end with any byte."""
    shape = port_shape(64, 4, realign=True, pipelined=pipelined)
    dut = AxiReader(dataclasses.replace(shape, word_bits=8, clears=True))
    memory = AxiMemory(read=dut.port, pause=0.2, seed=1, longest=4, outstanding=3)
    memory.bytes[:] = random.Random(5).randbytes(len(memory.bytes))
    commands = [(56 + offset, 1 + step) for offset in range(8) for step in (0, 1, 6, 7, 8, 30)]
    packets, _ = _read(dut, memory, commands, stall=0.2)
    assert packets == [bytes(memory.bytes[address : address + count]) for address, count in commands]


def test_reader_that_realigns_reports_the_beat_of_a_fault() -> None:
    """Also of one in the words before the first."""
    dut = AxiReader(port_shape(64, 8, realign=True))
    memory = AxiMemory(read=dut.port)
    memory.spoil({8: 2, 140: 3, 256: 2})
    _, statuses = _read(dut, memory, [(12, 100), (116, 20), (124, 20), (132, 124), (252, 8)])
    assert [resp for resp, _ in statuses] == [2, 0, 3, 3, 2]
    assert [noted for resp, noted in statuses if resp] == [8, 136, 136, 256]


def test_reader_reports_the_first_fault_and_goes_on() -> None:
    dut = AxiReader(port_shape(64, 8))
    memory = AxiMemory(read=dut.port)
    memory.spoil({40: 3, 100: 2, 308: 2})
    _, statuses = _read(dut, memory, [(0, 200), (200, 40), (256, 128)])
    assert statuses[0] == (3, 40)
    assert statuses[1][0] == 0
    assert statuses[2] == (2, 304)


class _Impatient(AxiMemory):
    """A memory whose data come in the cycle after their address, and are never to wait."""

    def _take(self, values: dict[str, int]) -> None:
        assert values["rready"] or not values["rvalid"]
        super()._take(values)


@pytest.mark.parametrize("pipelined", [False, True])
def test_reader_is_ready_in_the_cycle_after_an_address(pipelined: bool) -> None:
    """The arbiter of the host port holds no data back."""
    dut = AxiReader(port_shape(64, 8, pipelined=pipelined))
    memory = _Impatient(read=dut.port, latency=0)
    memory.bytes[:] = random.Random(1).randbytes(len(memory.bytes))
    commands = [(0, 200), (256, 8), (512, 8)]
    packets, _ = _read(dut, memory, commands)
    assert packets == [bytes(memory.bytes[begin : begin + size]) for begin, size in commands]


@pytest.mark.parametrize("pipelined", [False, True])
def test_reader_requests_only_what_its_buffer_can_hold(pipelined: bool) -> None:
    """While nothing takes the data, no more is requested than the buffer holds, and the port never waits."""
    dut = AxiReader(port_shape(64, 8, outstanding=64, pipelined=pipelined))
    memory = AxiMemory(read=dut.port)
    waited = []
    idle = []

    async def drive(ctx: Any) -> None:
        ctx.set(dut.command.payload, {"first": 0, "last": 4095})
        ctx.set(dut.command.valid, 1)
        for _ in range(300):
            waited.append(ctx.get(dut.port.r.valid) and not ctx.get(dut.port.r.ready))
            idle.append(ctx.get(dut.port.ar.valid) and ctx.get(dut.idle))
            await ctx.tick()

    simulate(dut, drive, background=memory.answer)
    assert sum(count for _, count in memory.asked) == dut.shape.buffer
    assert not any(waited)
    assert not any(idle)
