"""The words left of a packet of any length, in both kinds of decompressors: against a number that is counted down."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.pipelined import words_left as pipelined
from cdma.hdl.codec.plain import words_left as plain
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from tests.support.simulate import simulate

CONFIGS = [
    CodecConfig(lanes=8, pipelined=True),
    CodecConfig(Format(8, 32, 2, (0, 1)), 1, pipelined=True),
    CodecConfig(Format(16, 64, 2, (0, 1, 2)), 16, pipelined=True),
]


def thermometer(value: int) -> int:
    return (1 << value) - 1


@pytest.mark.parametrize(("lanes", "beats"), [(1, 8), (4, 4), (8, 4), (8, 1), (16, 2)])
def test_plain_the_last_beat_and_the_rest_of_a_window_are_known(lanes: int, beats: int) -> None:
    """In every cycle, with a beat in each or with pauses, and with packets that end early."""
    rng = random.Random(lanes)
    dut = plain.WordsLeft(lanes, beats)

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


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_pipelined_the_words_of_a_window_are_known(config: CodecConfig) -> None:
    window, lanes = config.format.window, config.lanes
    dut = pipelined.WordsLeft(config)
    source = random.Random(str(config))
    marks = [lanes, window, 2 * window, 3 * window]
    lengths = [
        0,
        1,
        *(mark + step for mark in marks for step in (-1, 0, 1)),
        2**32 - 1,
        2**31,
        2**31 + window,
    ]
    lengths += [source.randint(0, 6 * window) for _ in range(30)]

    async def check(ctx: Any) -> None:
        for length in lengths:
            assert ctx.get(dut.length.ready)
            assert not ctx.get(dut.known)
            ctx.set(dut.length.payload, length)
            await ctx.tick().repeat(source.randint(1, 3))
            assert not ctx.get(dut.known)
            ctx.set(dut.length.valid, 1)
            await ctx.tick()
            # Another length waits.
            ctx.set(dut.length.payload, 77)
            left = length
            gives_up = source.randint(1, 12)
            while True:
                assert ctx.get(dut.known)
                assert not ctx.get(dut.length.ready)
                await ctx.tick()
                here = min(left, window)
                assert ctx.get(dut.nothing) == (left == 0)
                assert ctx.get(dut.final) == (left <= window)
                assert ctx.get(dut.exists) == thermometer(here)
                if here:
                    assert ctx.get(dut.more) == thermometer(-(-here // lanes) - 1)
                    assert ctx.get(dut.words) == (here - 1) % lanes
                # The outputs hold.
                for _ in range(source.randint(0, 2)):
                    await ctx.tick()
                assert ctx.get(dut.exists) == thermometer(here)
                gives_up -= 1
                if left <= window or not gives_up:
                    break
                ctx.set(dut.next, 1)
                await ctx.tick()
                ctx.set(dut.next, 0)
                left -= window
            ctx.set(dut.done, 1)
            ctx.set(dut.length.valid, 0)
            await ctx.tick()
            ctx.set(dut.done, 0)

    simulate(dut, check)
