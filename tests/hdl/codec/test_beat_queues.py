"""The queues of finished beats, in flip-flops and in memories: against a list of what went in."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.pipelined.beat_memory import BeatMemory
from cdma.hdl.codec.plain.beat_queue import BeatQueue
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from tests.support.pauses import PAIRS, WILLING
from tests.support.simulate import simulate

#: Cycles for which both sides stay equally willing.
PHASE = 120


def _queue(depth: int | None, lanes: int) -> tuple[BeatQueue | BeatMemory, int]:
    """One of so many beats in flip-flops or else in a memory, and the cycles that a beat takes through the empty one."""
    config = CodecConfig(Format(8, 32), lanes)
    return (BeatQueue(config, depth), 1) if depth else (BeatMemory(config), 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("depth", "lanes", "pairs"),
    [
        (2, 4, 0.5),
        (3, 4, 0),
        (3, 1, 0.5),
        (2, 4, 1),
        (None, 4, 0),
        (None, 1, 0.5),
        (None, 4, 0.5),
        (None, 4, 1),
    ],
)
def test_beats_come_out_as_they_went_in(depth: int | None, lanes: int, pairs: float) -> None:
    """In the first cycle in which they can. ``pairs`` is the share of beats that go in two at a time."""
    dut, latency = _queue(depth, lanes)
    source = random.Random(repr((depth, lanes, pairs)))

    async def check(ctx: Any) -> None:
        expected: list[tuple[int, list[int], int, bool]] = []
        left = cycle = -1
        for writes, reads in PAIRS:
            out = 0
            for _ in range(PHASE):
                cycle += 1
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
                for row in range(number if fires else 0):
                    is_last = bool(last >> row & 1)
                    size = count + 1 if is_last else lanes
                    expected.append((cycle, rows[row][:size], (1 << size) - 1, is_last))
                await ctx.tick()
            if writes == reads == "always" and pairs:
                # More go in than can come out: it is never empty.
                assert out >= PHASE - 2 * latency - 2
            assert out

    simulate(dut, check)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("depth", [2, 3, None])
def test_every_entry_is_used(depth: int | None, number: int) -> None:
    """All but a single entry that is left for two beats. The credit of the one in memory is a register: it keeps entries
    for the beats of two cycles back, and learns late that only one was pushed."""
    dut, _ = _queue(depth, 2)
    least, most = (depth - depth % number,) * 2 if depth else (27, 32)

    async def check(ctx: Any) -> None:
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

    simulate(dut, check)
