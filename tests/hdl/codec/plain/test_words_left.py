"""The words left of a packet, against a number that is counted down at once."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.plain.words_left import WordsLeft
from tests.support.simulate import simulate


@pytest.mark.parametrize(("lanes", "beats"), [(1, 8), (4, 4), (8, 4), (8, 1), (16, 2)])
def test_the_last_beat_and_the_rest_of_a_window_are_known(lanes: int, beats: int) -> None:
    """In every cycle, with a beat in each or with pauses, and with packets that end early."""
    rng = random.Random(lanes)
    dut = WordsLeft(lanes, beats)

    async def check(ctx: Any) -> None:
        left, known = 0, False
        eager = 1.0
        for cycle in range(3000):
            if cycle % 50 == 0:
                eager = rng.choice([0.3, 0.9, 1.0])
            length = rng.choice([rng.randrange(1, 40 * lanes), rng.randrange(2**20), 2**32 - 1, 8 * lanes])
            last = known and left <= lanes
            taken = known and rng.random() < eager
            loads = not known or (taken and last)
            ctx.set(dut.unknown, not known)
            ctx.set(dut.loads, loads)
            ctx.set(dut.takes, taken and not last)
            ctx.set(dut.holds, known and not taken)
            ctx.set(dut.length, length)
            if known:
                near, only_near, more = (ctx.get(value) for value in (dut.near, dut.only_near, dut.more))
                assert (only_near and near <= lanes) == last
                assert not last or near == left
                assert [more or near > word for word in range((beats - 1) * lanes)] == [
                    left > word for word in range((beats - 1) * lanes)
                ]
            await ctx.tick()
            if loads:
                left, known = length, rng.random() < 0.8
            elif taken:
                left -= lanes
                known = rng.random() < 0.99

    simulate(dut, check)
