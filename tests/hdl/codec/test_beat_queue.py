"""The two queues of finished beats, which promise the same: what goes in comes out, in order, at a beat per cycle."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from cdma.hdl.codec.pipelined.beat_memory import BeatMemory
from cdma.hdl.codec.plain.beat_queue import BeatQueue
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from tests.support.simulate import PAIRS, WILLING, simulate

#: Each with the cycles that a beat takes through it.
QUEUES: dict[str, tuple[Callable[[CodecConfig], Any], int]] = {
    "two deep": (lambda config: BeatQueue(config, 2), 1),
    "three deep": (lambda config: BeatQueue(config, 3), 1),
    "in memories": (BeatMemory, 4),
}
CYCLES = 500


@pytest.mark.parametrize(("writes", "reads"), PAIRS)
@pytest.mark.parametrize(("lanes", "pairs"), [(4, 0), (1, 0.5), (4, 0.5), (4, 1)])
@pytest.mark.parametrize("queue", QUEUES)
def test_beats_come_out_as_they_went_in(
    queue: str, lanes: int, pairs: float, writes: str, reads: str
) -> None:
    make, latency = QUEUES[queue]
    dut = make(CodecConfig(Format(8, 32), lanes))
    source = random.Random(f"{queue} {lanes} {pairs} {writes} {reads}")

    async def check(ctx: Any) -> None:
        expected: list[tuple[int, list[int], int, bool]] = []
        left = -1
        out = 0
        for cycle in range(CYCLES):
            ctx.set(dut.output.ready, WILLING[reads](source, cycle))
            number = (2 if source.random() < pairs else 1) if WILLING[writes](source, cycle) else 0
            ends = number > 0 and source.random() < 0.2
            count = source.randrange(lanes)
            rows = [[source.getrandbits(8) for _ in range(lanes)] for _ in range(2)]
            # Of a row that does not go in nothing has a meaning.
            last = source.getrandbits(2) >> number << number
            if ends:
                last |= 1 << (number - 1)
            ctx.set(dut.push, (1 << number) - 1)
            ctx.set(dut.rows, rows)
            ctx.set(dut.last, last)
            ctx.set(dut.count, count)
            fires = ctx.get(dut.room) and (writes == "always" or source.random() < 0.9)
            ctx.set(dut.fire, fires)

            there = bool(expected) and cycle >= max(expected[0][0] + latency, left + 1)
            assert ctx.get(dut.output.valid) == there, f"cycle {cycle}"
            if there:
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

    simulate(dut, check)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(("queue", "places"), [("two deep", 2), ("three deep", 3), ("in memories", 32)])
def test_every_place_is_used(queue: str, places: int, number: int) -> None:
    """With nobody to take beats, so many go in as there are places; with a single one for two, none."""
    dut = QUEUES[queue][0](CodecConfig(Format(8, 32), 2))

    async def check(ctx: Any) -> None:
        gone = 0
        ctx.set(dut.push, (1 << number) - 1)
        ctx.set(dut.last, 0)
        for _ in range(50):
            ctx.set(dut.rows, [[gone, 0], [gone + 1, 0]])
            fires = ctx.get(dut.room)
            ctx.set(dut.fire, fires)
            gone += number * fires
            await ctx.tick()
        # A room that is a register keeps a place for two, and does not know that but one was taken.
        least = places - places % number if queue != "in memories" else places - 3
        assert least <= gone <= places
        ctx.set(dut.fire, 0)
        ctx.set(dut.output.ready, 1)
        for beat in range(gone):
            while not ctx.get(dut.output.valid):
                await ctx.tick()
            assert ctx.get(dut.output.payload.data[0]) == beat
            await ctx.tick()
        assert not ctx.get(dut.output.valid)

    simulate(dut, check)
