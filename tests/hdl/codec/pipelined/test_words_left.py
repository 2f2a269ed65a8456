"""The words left of a packet: against an integer."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.pipelined.words_left import WordsLeft
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


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_words_left(config: CodecConfig) -> None:
    window, lanes = config.format.window, config.lanes
    dut = WordsLeft(config)
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
