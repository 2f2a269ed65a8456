"""Pieces of packets that are moved to other lanes, and joined where they share a beat. Wider and narrower beats have proofs
(`widen`, `narrow`).
"""

from __future__ import annotations

import itertools
import random

import pytest
from amaranth.sim import Simulator

from cdma.hdl.blocks.width import Repack

Words = list[tuple[int, int]]


def _beats(lane: int, words: list[int], lanes: int) -> list[Words]:
    """The words, from a lane of the first beat on: each with its lane."""
    placed = [(at % lanes, word) for at, word in enumerate(words, lane)]
    cuts = [0, *range(lanes - lane, len(placed), lanes), len(placed)]
    return [placed[start:end] for start, end in itertools.pairwise(cuts)]


def _packet(rng: random.Random, lanes: int) -> tuple[list[dict], list[tuple[Words, int]]]:
    """Beats of random pieces, some of which are closed, and the beats that must come, with ``last``."""
    given: list[dict] = []
    wanted: list[Words] = []
    at, filled = None, []
    count = rng.randint(1, 6)
    for number in range(count):
        words = [rng.getrandbits(8) for _ in range(rng.choice((1, 2, lanes, rng.randint(1, 4 * lanes))))]
        first = rng.randrange(lanes)
        begins = rng.randrange(lanes) if at is None else at % lanes
        at = begins if at is None else at
        closes = number == count - 1 or rng.random() < 0.4
        beats = _beats(first, words, lanes)
        for place, beat in enumerate(beats):
            ends = place == len(beats) - 1
            given.append(
                {
                    "beat": {
                        "data": [dict(beat).get(lane, 0xEE) for lane in range(lanes)],
                        "keep": sum(1 << lane for lane, _ in beat),
                        "last": int(ends and number == count - 1),
                    },
                    "shift": (begins - first) % lanes,
                    "wraps": int(place == 0 and first > begins),
                    "closes": int(ends and closes),
                }
            )
        filled += words
        at += len(words)
        if closes:
            wanted += _beats((at - len(filled)) % lanes, filled, lanes)
            at, filled = None, []
    return given, [(beat, int(beat is wanted[-1])) for beat in wanted]


@pytest.mark.parametrize("lanes", [2, 8])
def test_words_come_in_order_in_the_lanes_that_they_are_moved_to(lanes: int) -> None:
    rng = random.Random(lanes)
    dut = Repack(8, lanes)
    packets = [_packet(rng, lanes) for _ in range(120)]

    async def give(ctx) -> None:
        for beats, _ in packets:
            for beat in beats:
                while rng.random() < 0.2:
                    await ctx.tick()
                ctx.set(dut.input.payload, beat)
                ctx.set(dut.input.valid, 1)
                await ctx.tick().until(dut.input.ready)
                ctx.set(dut.input.valid, 0)

    async def take(ctx) -> None:
        own = random.Random(3)
        for _, beats in packets:
            for words, last in beats:
                while own.random() < 0.2:
                    await ctx.tick()
                ctx.set(dut.output.ready, 1)
                (got,) = await ctx.tick().sample(dut.output.payload).until(dut.output.valid)
                ctx.set(dut.output.ready, 0)
                kept = [(lane, got.data[lane]) for lane in range(lanes) if got.keep >> lane & 1]
                assert (kept, got.last) == (words, last)
                assert all(got.data[lane] == 0 for lane in range(lanes) if not got.keep >> lane & 1)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(give)
    simulator.add_testbench(take)
    simulator.run()


def test_rows_that_need_no_further_beat_take_a_cycle_for_each() -> None:
    """Rows of a beat and a half, one behind the other."""
    dut, lanes, rows = Repack(8, 4), 4, 20

    async def run(ctx) -> None:
        ctx.set(dut.output.ready, 1)
        at = cycles = 0
        for row in range(rows):
            for keep, ends in ((15, 0), (3, 1)):
                last = int(ends and row == rows - 1)
                beat = {"data": [0] * 4, "keep": keep, "last": last}
                ctx.set(dut.input.payload, {"beat": beat, "shift": at % lanes, "wraps": 0, "closes": last})
                ctx.set(dut.input.valid, 1)
                cycles += 1
                *_, ready = await ctx.tick().sample(dut.input.ready)
                assert ready
            at += 6
        assert cycles == 2 * rows

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(run)
    simulator.run()
