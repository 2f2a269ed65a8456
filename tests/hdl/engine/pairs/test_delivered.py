"""Completions of several pairs in one memory: each pair's in their order, and counted."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest

from cdma.hdl.engine.pairs.delivered import DeliveredStore
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import Status, completion_fields
from tests.support.simulate import simulate

PAIRS = 3
#: Cycles after which an event is counted.
LATE = 6


class _Pair:
    """What a pair should have: started, in the data path, and the tags of its completions that wait."""

    def __init__(self) -> None:
        self.inside = 0
        self.waiting: deque[int] = deque()

    @property
    def owed(self) -> int:
        return self.inside + len(self.waiting)


@pytest.mark.parametrize("seed", range(4))
def test_every_pair_has_its_completions_in_order(seed: int) -> None:
    config = EngineConfig(channels=PAIRS, descriptors=2)
    dut, rng = DeliveredStore(config), random.Random(seed)
    pairs = [_Pair() for _ in range(PAIRS)]
    ports = [getattr(dut, f"pair_{number}") for number in range(PAIRS)]
    taken = 0

    async def pulse(ctx: Any, signal: Any, value: int, cycles: int = 1) -> None:
        ctx.set(signal, value)
        await ctx.tick()
        ctx.set(signal, 0)
        await ctx.tick().repeat(cycles)

    def check(ctx: Any) -> None:
        for port, pair in zip(ports, pairs, strict=True):
            assert ctx.get(port.full) == (pair.owed == dut.room)
            assert ctx.get(port.owed) == (pair.owed > 0)
            assert ctx.get(port.inside) == (pair.inside > 0)
            assert ctx.get(port.waiting) == (len(pair.waiting) > 0)

    async def start_and_end(ctx: Any, number: int, tag: int) -> None:
        """One starts, or comes, while another one may be taken in the same cycle."""
        pair, port = pairs[number], ports[number]
        if not pair.inside or (rng.random() < 0.5 and not ctx.get(port.full)):
            if not ctx.get(port.full):
                ctx.set(dut.started, 1 << number)
                pair.inside += 1
        else:
            ctx.set(dut.completion, {"completion": {"tag": tag}})
            await ctx.tick().until(dut.ready)
            ctx.set(dut.done, 1 << number)
            pair.inside -= 1
            pair.waiting.append(tag)

    async def testbench(ctx: Any) -> None:
        nonlocal taken
        for tag in range(400):
            await start_and_end(ctx, rng.randrange(PAIRS), tag)
            number = rng.randrange(PAIRS)
            if ctx.get(ports[number].waiting) and rng.random() < 0.7:
                ctx.set(dut.pair, number)
            if not ctx.get(dut.done):
                await ctx.tick()
                ctx.set(dut.started, 0)
                await ctx.tick().repeat(2)
                if ctx.get(ports[number].waiting) and ctx.get(dut.pair) == number:
                    assert ctx.get(dut.oldest.completion.tag) == pairs[number].waiting.popleft()
                    taken += 1
                    ctx.set(ports[number].taken, 1)
            await ctx.tick()
            for signal in (dut.done, *(port.taken for port in ports)):
                ctx.set(signal, 0)
            await ctx.tick().repeat(LATE)
            check(ctx)

    simulate(dut, testbench)
    assert taken > 40


@pytest.mark.parametrize("apart", range(3))
def test_software_takes_the_completion_of_one_pair_while_the_rings_take_that_of_another(apart: int) -> None:
    dut = DeliveredStore(EngineConfig(channels=PAIRS, descriptors=2))

    async def testbench(ctx: Any) -> None:
        for number in range(PAIRS):
            for signal in (dut.started, dut.done):
                ctx.set(signal, 1 << number)
                await ctx.tick()
                ctx.set(signal, 0)
                await ctx.tick().repeat(LATE)
        ctx.set(dut.pair_2.taken, 1)
        for _ in range(apart):
            await ctx.tick()
            ctx.set(dut.pair_2.taken, 0)
        ctx.set(dut.pair_1.taken, 1)
        await ctx.tick()
        for port in (dut.pair_1, dut.pair_2):
            ctx.set(port.taken, 0)
        await ctx.tick().repeat(2 * LATE)
        for number, port in enumerate((dut.pair_0, dut.pair_1, dut.pair_2)):
            assert (ctx.get(port.owed), ctx.get(port.waiting)) == ((1, 1) if number == 0 else (0, 0))

    simulate(dut, testbench)


def test_a_pair_that_is_cleared_has_nothing() -> None:
    dut = DeliveredStore(EngineConfig(channels=PAIRS, descriptors=2))

    async def testbench(ctx: Any) -> None:
        for number in (0, 1):
            for tag in (5, 6):
                ctx.set(dut.started, 1 << number)
                await ctx.tick()
                ctx.set(dut.started, 0)
                await ctx.tick().repeat(LATE)
                ctx.set(dut.completion, {"completion": {"tag": tag + number}})
                ctx.set(dut.done, 1 << number)
                await ctx.tick()
                ctx.set(dut.done, 0)
                await ctx.tick().repeat(LATE)
        ctx.set(dut.pair_0.clear, 1)
        await ctx.tick()
        ctx.set(dut.pair_0.clear, 0)
        await ctx.tick().repeat(LATE)
        flags = ("full", "owed", "inside", "waiting")
        assert [ctx.get(getattr(dut.pair_0, flag)) for flag in flags] == [0, 0, 0, 0]
        assert [ctx.get(getattr(dut.pair_1, flag)) for flag in flags] == [0, 1, 0, 1]
        ctx.set(dut.pair, 1)
        await ctx.tick().repeat(2)
        assert ctx.get(dut.oldest.completion.tag) == 6

    simulate(dut, testbench)


def test_a_completion_that_may_depend_on_a_lost_word_says_so() -> None:
    dut = DeliveredStore(EngineConfig(channels=2))

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.pair_1.lost, 1)
        for number in (0, 1):
            ctx.set(dut.done, 1 << number)
            await ctx.tick()
            ctx.set(dut.done, 0)
            await ctx.tick().repeat(LATE)
            ctx.set(dut.pair, number)
            await ctx.tick().repeat(2)
            wanted = (Status.OK, Status.MEMORY)[number]
            assert ctx.get(dut.oldest.completion.status) == wanted
            assert ctx.get(dut.oldest.interrupt) == number

    simulate(dut, testbench)


@pytest.mark.parametrize("options", [{}, {"crc": True}])
def test_every_field_that_a_completion_has_is_kept(options: dict[str, Any]) -> None:
    config = EngineConfig(channels=2, **options)
    dut, bits = DeliveredStore(config), config.records.length_bits
    zero = {"phase", *(field.name for field in completion_fields(config.records) if field.reserved)}
    wide = {"bytes_read": bits, "bytes_written": bits, "cycles": 32}
    ones = {
        field.name: (1 << wide.get(field.name, field.bits)) - 1
        for field in completion_fields(config.records)
        if field.name not in zero
    }

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.completion, {"completion": ones, "interrupt": 1})
        ctx.set(dut.done, 2)
        await ctx.tick()
        ctx.set(dut.done, 0)
        ctx.set(dut.pair, 1)
        await ctx.tick().repeat(LATE)
        shown = ctx.get(dut.oldest)
        assert {name: shown.completion[name] for name in ones} == ones
        assert not any(shown.completion[name] for name in zero)
        assert shown.interrupt

    simulate(dut, testbench)
