"""The queue in a memory with the count of its places, and the register in a stream: against a list of what went in."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Elaboratable, Module

from cdma.hdl.blocks.memory_queue import MemoryQueue, Room
from cdma.hdl.blocks.stream_register import StreamRegister
from tests.support.simulate import PAIRS, WILLING, simulate

CYCLES = 600


async def check_stream(
    ctx: Any, dut: Any, seed: object, writes: str, reads: str, latency: int, ready: Callable[[], bool]
) -> None:
    """Nothing is lost, changed or out of order, and each entry comes out in the first cycle in which it can."""
    source = random.Random(repr(seed))
    entries: list[tuple[int, int]] = []
    left = -1
    through = 0
    for cycle in range(CYCLES):
        ctx.set(dut.output.ready, WILLING[reads](source, cycle))
        # What is not valid has no meaning, but some value.
        payload = source.getrandbits(16)
        ctx.set(dut.input.payload, payload)
        goes_in = ready() and WILLING[writes](source, cycle)
        ctx.set(dut.input.valid, goes_in)
        there = bool(entries) and cycle >= max(entries[0][0] + latency, left + 1)
        assert ctx.get(dut.output.valid) == there, f"cycle {cycle}"
        if there:
            assert ctx.get(dut.output.payload) == entries[0][1], f"cycle {cycle}"
            if ctx.get(dut.output.ready):
                entries.pop(0)
                left = cycle
                through += 1
        if goes_in:
            entries.append((cycle, payload))
        await ctx.tick()
    if writes == reads == "always":
        assert through == CYCLES - latency
    assert through > CYCLES // 200


class Counted(Elaboratable):
    """A queue and the count of its places, as all who use them connect them."""

    def __init__(self, depth: int) -> None:
        self.queue = MemoryQueue(16, depth)
        self.room = Room(depth)
        self.input, self.output = self.queue.input, self.queue.output

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue, m.submodules.room = self.queue, self.room
        m.d.comb += [
            self.room.taken.eq(self.input.valid),
            self.room.given.eq(self.output.valid & self.output.ready),
        ]
        return m


@pytest.mark.parametrize(("writes", "reads"), PAIRS)
@pytest.mark.parametrize("depth", [8, 16])
def test_memory_queue(depth: int, writes: str, reads: str) -> None:
    dut = Counted(depth)

    async def check(ctx: Any) -> None:
        await check_stream(
            ctx, dut, (depth, writes, reads), writes, reads, 3, lambda: bool(ctx.get(dut.room.there))
        )

    simulate(dut, check)


@pytest.mark.parametrize("depth", [4, 16])
def test_memory_queue_holds_its_depth(depth: int) -> None:
    """Whoever counts better than a room may use every place."""
    dut = MemoryQueue(8, depth)

    async def check(ctx: Any) -> None:
        for turn in range(3):
            for entry in range(depth):
                ctx.set(dut.input.payload, 50 * turn + entry)
                ctx.set(dut.input.valid, 1)
                await ctx.tick()
            ctx.set(dut.input.valid, 0)
            await ctx.tick().repeat(5)
            ctx.set(dut.output.ready, 1)
            for entry in range(depth):
                assert ctx.get(dut.output.valid)
                assert ctx.get(dut.output.payload) == 50 * turn + entry
                await ctx.tick()
            assert not ctx.get(dut.output.valid)
            ctx.set(dut.output.ready, 0)

    simulate(dut, check)


@pytest.mark.parametrize(("writes", "reads"), PAIRS)
def test_stream_register(writes: str, reads: str) -> None:
    dut = StreamRegister(16)

    async def check(ctx: Any) -> None:
        def ready() -> bool:
            taken = not ctx.get(dut.output.valid) or bool(ctx.get(dut.output.ready))
            assert ctx.get(dut.input.ready) == taken
            return taken

        await check_stream(ctx, dut, (writes, reads), writes, reads, 1, ready)

    simulate(dut, check)


@pytest.mark.parametrize(("places", "most"), [(4, 1), (8, 1), (16, 1), (32, 2), (16, 5)])
def test_room_is_never_too_generous_nor_too_mean(places: int, most: int) -> None:
    """Who takes all that he may, without a pause, gets just as many places as there are, however they are given back."""
    dut = Room(places, most)
    source = random.Random(f"{places} {most}")
    usable = places - places % most

    async def check(ctx: Any) -> None:
        used = 0
        for greedy in [True, False] * 10:
            peak = 0
            for _ in range(places + 10):
                taken = 0
                if ctx.get(dut.there):
                    taken = most if greedy else source.randint(0, most)
                given = not greedy and used > 0 and source.random() < 0.6
                ctx.set(dut.taken, taken)
                ctx.set(dut.given, given)
                used += taken - given
                assert 0 <= used <= places
                peak = max(peak, used)
                await ctx.tick()
            ctx.set(dut.taken, 0)
            if greedy:
                assert not ctx.get(dut.there)
                # The places kept back are for those who take in the cycles in which it does not know yet.
                assert places - 3 * most < peak <= places
            ctx.set(dut.given, 1)
            while used:
                used -= 1
                await ctx.tick()
            ctx.set(dut.given, 0)
            await ctx.tick().repeat(2)
            assert ctx.get(dut.there)
        for _ in range(places):
            taken = most if ctx.get(dut.there) else 0
            ctx.set(dut.taken, taken)
            used += taken
            await ctx.tick()
        assert used == usable

    simulate(dut, check)


@pytest.mark.parametrize("most", [1, 2])
def test_room_does_not_stop_who_gives_back_in_time(most: int) -> None:
    dut = Room(16 * most, most)

    async def check(ctx: Any) -> None:
        taken = [0] * 6
        for cycle in range(200):
            assert ctx.get(dut.there), f"cycle {cycle}"
            # One place is all that can be given back in a cycle.
            taken.append(1)
            ctx.set(dut.taken, 1)
            ctx.set(dut.given, taken.pop(0))
            await ctx.tick()

    simulate(dut, check)
