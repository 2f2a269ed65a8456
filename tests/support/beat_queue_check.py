"""Checks a queue of finished beats against a list of what went in."""

from __future__ import annotations

import random
from typing import Any

from tests.support.pauses import WILLING

__all__ = ["LOADS", "check_beats", "check_capacity"]

#: Lanes, and the share of beats that go in two at a time.
LOADS = [(4, 0), (1, 0.5), (4, 0.5), (4, 1)]

#: Length of a check.
CYCLES = 500


async def check_beats(
    ctx: Any, dut: Any, seed: object, latency: int, lanes: int, pairs: float, writes: str, reads: str
) -> None:
    """Checks that beats come out as they went in, ``latency`` cycles later or in the first cycle in which they can.

    ``pairs`` is the share of beats that go in two at a time.
    """
    source = random.Random(repr(seed))
    expected: list[tuple[int, list[int], int, bool]] = []
    left = -1
    out = 0
    for cycle in range(CYCLES):
        ctx.set(dut.output.ready, WILLING[reads](source, cycle))
        number = (2 if source.random() < pairs else 1) if WILLING[writes](source, cycle) else 0
        ends = number > 0 and source.random() < 0.2
        count = source.randrange(lanes)
        rows = [[source.getrandbits(8) for _ in range(lanes)] for _ in range(2)]
        # Rows that are not pushed hold anything.
        last = source.getrandbits(2) >> number << number
        if ends:
            last |= 1 << (number - 1)
        ctx.set(dut.push, (1 << number) - 1)
        ctx.set(dut.rows, rows)
        ctx.set(dut.last, last)
        ctx.set(dut.count, count)
        fires = ctx.get(dut.available) and (writes == "always" or source.random() < 0.9)
        ctx.set(dut.fire, fires)

        valid = bool(expected) and cycle >= max(expected[0][0] + latency, left + 1)
        assert ctx.get(dut.output.valid) == valid, f"cycle {cycle}"
        if valid:
            _, words, keep, is_last = expected[0]
            beat = ctx.get(dut.output.payload)
            assert (beat.keep, beat.last) == (keep, is_last), f"cycle {cycle}"
            assert [word for lane, word in enumerate(beat.data) if keep >> lane & 1] == words
            if ctx.get(dut.output.ready):
                expected.pop(0)
                left = cycle
                out += 1
        if fires:
            for row in range(number):
                is_last = bool(last >> row & 1)
                size = count + 1 if is_last else lanes
                expected.append((cycle, rows[row][:size], (1 << size) - 1, is_last))
        await ctx.tick()
    if reads == "always" and writes == "always" and pairs in (0.5, 1):
        # More go in than can come out: it is never empty.
        assert out >= CYCLES - 2 * latency - 2
    assert out > CYCLES // 200


async def check_capacity(ctx: Any, dut: Any, number: int, least: int, most: int) -> None:
    """Checks that ``least`` to ``most`` beats go in, ``number`` at a time, while none comes out."""
    gone = 0
    ctx.set(dut.push, (1 << number) - 1)
    ctx.set(dut.last, 0)
    for _ in range(50):
        ctx.set(dut.rows, [[gone, 0], [gone + 1, 0]])
        fires = ctx.get(dut.available)
        ctx.set(dut.fire, fires)
        gone += number * fires
        await ctx.tick()
    assert least <= gone <= most
    ctx.set(dut.fire, 0)
    ctx.set(dut.output.ready, 1)
    for beat in range(gone):
        while not ctx.get(dut.output.valid):
            await ctx.tick()
        assert ctx.get(dut.output.payload.data[0]) == beat
        await ctx.tick()
    assert not ctx.get(dut.output.valid)
