"""Queues and registers in streams: against a list of what went in, while both sides are willing in all ways.

The proofs have small ones for every input.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Elaboratable, Module, ResetInserter, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.queues import Credit, Fifo, MemoryQueue
from cdma.hdl.blocks.registers import Beat, BeatSlice, ElasticBuffer, SkidBuffer, StreamRegister
from tests.support.simulate import cells_of, simulate
from tests.support.stimuli import PAIRS, WILLING

#: Cycles for which both sides stay equally willing.
PHASE = 250


class FlatSlice(wiring.Component):
    """A slice for beats whose payload is a number of ``bits``."""

    def __init__(self, bits: int) -> None:
        # Beside keep and last.
        self.beat = Beat(bits - 2, 1)
        super().__init__({"input": In(stream.Signature(bits)), "output": Out(stream.Signature(bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.slice = beats = BeatSlice(self.beat)
        for outer, inner in ((self.input, beats.input), (self.output, beats.output)):
            source, sink = (outer, inner) if inner is beats.input else (inner, outer)
            m.d.comb += [
                sink.valid.eq(source.valid),
                source.ready.eq(sink.ready),
                Value.cast(sink.payload).eq(Value.cast(source.payload)),
            ]
        return m


class Counted(Elaboratable):
    """A queue and the credit of its writer, connected as all their users connect them."""

    def __init__(self, depth: int) -> None:
        self.queue = MemoryQueue(16, depth)
        self.credit = Credit(depth)
        self.input, self.output = self.queue.input, self.queue.output

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue, m.submodules.credit = self.queue, self.credit
        m.d.comb += [
            self.credit.spent.eq(self.input.valid),
            self.credit.returned.eq(self.output.valid & self.output.ready),
        ]
        return m


#: Each block, and after how many cycles an entry comes out of the empty one.
QUEUES: dict[str, tuple[Callable[[], Any], int]] = {
    "register": (lambda: StreamRegister(16), 1),
    "skid buffer": (lambda: SkidBuffer(16), 1),
    "elastic buffer": (lambda: ElasticBuffer(16), 1),
    "slice for beats": (lambda: FlatSlice(16), 1),
    "memory queue": (lambda: Counted(8), 3),
    "FIFO of two": (lambda: Fifo(16, 2), 2),
    "FIFO of eight": (lambda: Fifo(16, 8), 2),
    "FIFO of sixteen, late": (lambda: Fifo(16, 16, late_valid=True, late_ready=True), 2),
    # Block RAM gives a transfer per cycle from four entries on.
    "FIFO of four in block RAM": (lambda: Fifo(16, 4, pipelined=True), 4),
    "FIFO of eight in block RAM, late": (
        lambda: Fifo(16, 8, pipelined=True, late_valid=True, late_ready=True),
        4,
    ),
}
BUFFERS = ["skid buffer", "elastic buffer", "slice for beats"]


@pytest.mark.slow
@pytest.mark.parametrize("name", QUEUES)
def test_entries_come_out_as_they_went_in(name: str) -> None:
    """Each in the first possible cycle."""
    make, latency = QUEUES[name]
    dut = make()
    source = random.Random(name)

    def ready(ctx: Any) -> bool:
        if isinstance(dut, Counted):
            return bool(ctx.get(dut.credit.available))
        taken = bool(ctx.get(dut.input.ready))
        if isinstance(dut, StreamRegister):
            assert taken == (not ctx.get(dut.output.valid) or bool(ctx.get(dut.output.ready)))
        return taken

    async def check(ctx: Any) -> None:
        entries: list[tuple[int, int]] = []
        left = cycle = -1
        if name in BUFFERS:
            await ctx.tick()
        for writes, reads in PAIRS:
            through = 0
            for _ in range(PHASE):
                cycle += 1
                ctx.set(dut.output.ready, WILLING[reads](source, cycle))
                # What is not valid has no meaning, but some value.
                payload = source.getrandbits(16)
                ctx.set(dut.input.payload, payload)
                goes_in = ready(ctx) and WILLING[writes](source, cycle)
                ctx.set(dut.input.valid, goes_in)
                valid = bool(entries) and cycle >= max(entries[0][0] + latency, left + 1)
                assert ctx.get(dut.output.valid) == valid, f"cycle {cycle}"
                if valid:
                    assert ctx.get(dut.output.payload) == entries[0][1], f"cycle {cycle}"
                    if ctx.get(dut.output.ready):
                        entries.pop(0)
                        left = cycle
                        through += 1
                if goes_in:
                    entries.append((cycle, payload))
                await ctx.tick()
            assert through == PHASE - latency if writes == reads == "always" else through > PHASE // 50

    simulate(dut, check)


@pytest.mark.parametrize("name", BUFFERS)
def test_ready_and_valid_follow_nothing_within_a_cycle(name: str) -> None:
    dut = QUEUES[name][0]()
    source = random.Random(1)

    async def check(ctx: Any) -> None:
        for _ in range(100):
            shown = set()
            for valid, ready in ((0, 0), (0, 1), (1, 0), (1, 1)):
                ctx.set(dut.input.valid, valid)
                ctx.set(dut.output.ready, ready)
                ctx.set(dut.input.payload, source.getrandbits(16))
                shown.add((ctx.get(dut.input.ready), ctx.get(dut.output.valid), ctx.get(dut.output.payload)))
            assert len(shown) == 1
            ctx.set(dut.input.valid, source.getrandbits(1))
            ctx.set(dut.output.ready, source.getrandbits(1))
            await ctx.tick()

    simulate(dut, check)


@pytest.mark.parametrize("name", BUFFERS)
def test_nothing_moves_in_reset(name: str) -> None:
    """Ready is low too, because whoever offers in reset would lose the transfer."""
    dut = QUEUES[name][0]()
    m = Module()
    reset = Signal(init=1)
    m.submodules.buffer = dut
    m = ResetInserter(reset)(m)

    async def check(ctx: Any) -> None:
        ctx.set(dut.input.valid, 1)
        for _ in range(3):
            await ctx.tick()
            assert (ctx.get(dut.input.ready), ctx.get(dut.output.valid)) == (0, 0)
        ctx.set(reset, 0)
        assert ctx.get(dut.input.ready) == 0
        await ctx.tick()
        assert (ctx.get(dut.input.ready), ctx.get(dut.output.valid)) == (1, 0)

    simulate(m, check)


def test_synthesis_keeps_the_flip_flops_of_each_part() -> None:
    """Of 300 bits: two for each bit, and six for each of three parts."""
    cells = cells_of(ElasticBuffer(300))
    assert sum(cell["type"] == "TRELLIS_FF" for cell in cells) == 2 * 300 + 6 * 3


@pytest.mark.parametrize(
    ("depth", "reserved", "pipelined"),
    [(2, False, False), (8, True, False), (2, True, True), (8, False, True)],
)
def test_a_fifo_holds_its_depth_and_says_how_much_it_holds(
    depth: int, reserved: bool, pipelined: bool
) -> None:
    """One entry more fits into the register of the read port, and one into that after it, which a reserved FIFO does not
    use."""
    dut = Fifo(8, depth, reserved=reserved, pipelined=pipelined)
    entries = depth if reserved else depth + 1 + pipelined

    async def check(ctx: Any) -> None:
        for turn in range(3):
            assert ctx.get(dut.empty)
            for entry in range(entries):
                ctx.set(dut.input.payload, 50 * turn + entry)
                ctx.set(dut.input.valid, 1)
                while not ctx.get(dut.input.ready):
                    await ctx.tick()
                await ctx.tick()
                assert not ctx.get(dut.empty)
            ctx.set(dut.input.valid, 0)
            await ctx.tick().repeat(4)
            # All but those after the memory.
            assert ctx.get(dut.level) == entries - 1 - pipelined
            assert bool(ctx.get(dut.input.ready)) == reserved
            await _empty(ctx, dut, range(50 * turn, 50 * turn + entries))

    simulate(dut, check)


@pytest.mark.parametrize("depth", [4, 16])
def test_a_memory_queue_holds_its_depth(depth: int) -> None:
    """A writer that counts the entries exactly may fill all of them."""
    dut = MemoryQueue(8, depth)

    async def check(ctx: Any) -> None:
        for turn in range(3):
            for entry in range(depth):
                ctx.set(dut.input.payload, 50 * turn + entry)
                ctx.set(dut.input.valid, 1)
                await ctx.tick()
            ctx.set(dut.input.valid, 0)
            await ctx.tick().repeat(5)
            await _empty(ctx, dut, range(50 * turn, 50 * turn + depth))

    simulate(dut, check)


async def _empty(ctx: Any, dut: Fifo | MemoryQueue, entries: range) -> None:
    """Takes these entries, one per cycle, and finds no other."""
    ctx.set(dut.output.ready, 1)
    for entry in entries:
        assert not isinstance(dut, Fifo) or not ctx.get(dut.empty)
        assert ctx.get(dut.output.valid)
        assert ctx.get(dut.output.payload) == entry
        await ctx.tick()
    assert not ctx.get(dut.output.valid)
    ctx.set(dut.output.ready, 0)
