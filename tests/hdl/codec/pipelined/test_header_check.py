"""What is known of the header of a window: against a list of its codes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.parts.interface import has_one_entry
from cdma.hdl.codec.pipelined.header_check import HeaderCheck
from cdma.hdl.spec.codec import CodecConfig
from tests.support.pipelined_codecs import CONFIGS
from tests.support.simulate import simulate


def thermometer(value: int) -> int:
    return (1 << value) - 1


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_header_check(config: CodecConfig) -> None:
    fmt, lanes = config.format, config.lanes
    dut = HeaderCheck(config)
    source = random.Random(str(config))

    async def check(ctx: Any) -> None:
        for turn in range(250):
            words = source.choice([fmt.window, 1, lanes, lanes + 1, source.randint(1, fmt.window)])
            words = min(words, fmt.window)
            beats = -(-words // lanes)
            one_entry = has_one_entry(config) and source.random() < 0.5
            table_size = 1 if one_entry else config.table_size
            good = [*range(table_size), fmt.literal_code]
            ctx.set(dut.one_entry, one_entry)
            codes = [source.choice(good) for _ in range(words)] + [0] * (fmt.window - words)
            if turn % 3:
                # One code or many of any value.
                for _ in range(source.choice([1, 1, 2, fmt.window])):
                    codes[source.randrange(fmt.window)] = source.getrandbits(fmt.code_bits)
            ctx.set(dut.codes, sum(code << fmt.code_bits * word for word, code in enumerate(codes)))
            ctx.set(dut.exists, thermometer(words))
            ctx.set(dut.more, thermometer(beats - 1))
            counts = [
                codes[start : start + lanes].count(fmt.literal_code) for start in range(0, fmt.window, lanes)
            ]
            bad = 0
            for word in range(words):
                if table_size <= codes[word] < fmt.literal_code:
                    bad |= 1 << word // lanes
            if any(codes[words:]):
                bad |= 1 << (beats - 1)
            await ctx.tick()
            assert list(ctx.get(dut.counts)) == counts
            lane = source.randrange(lanes)
            adding = source.random() < 0.8
            if lanes > 1:
                ctx.set(dut.lane, lane)
            ctx.set(dut.adding, adding)
            await ctx.tick()
            assert ctx.get(dut.step) == (sum(counts) + lane if adding else 0)
            assert ctx.get(dut.total) == sum(counts)
            assert ctx.get(dut.bad) == bad
            assert ctx.get(dut.any_bad) == bool(bad)

    simulate(dut, check)
