"""The positions of a step's words in the output beats: against a list of the words."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Module

from cdma.hdl.codec.parts.placement import Placement
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from tests.support.simulate import simulate

#: Headers of a word, of a part of a beat, of a beat, of two beats and of many; one lane.
CONFIGS = [
    CodecConfig(Format(32, 32), 8),
    CodecConfig(Format(8, 32), 8),
    CodecConfig(Format(8, 64), 8),
    CodecConfig(Format(8, 64), 4),
    CodecConfig(Format(8, 32, 4), 2),
    CodecConfig(Format(32, 32), 1),
    CodecConfig(Format(8, 32), 1),
]


def step(
    config: CodecConfig, source: random.Random, start: int, first: bool, literals: int
) -> dict[str, Any]:
    """A step as a window store makes it. Its literals are 1, 2, 3 and so on; lanes without a literal hold anything."""
    lanes, parts = config.lanes, config.format.header_words
    header_part = min(parts, lanes)
    # The parts of a long header before the last have filled the beat, if it was empty.
    before = lanes if first and start == 0 and parts > lanes else start
    after_header = before + (header_part if first else 0)
    words = [source.randrange(200, 250) for _ in range(lanes)]
    for rank in range(literals):
        words[(after_header + rank) % lanes] = 1 + rank
    return {
        "words": words,
        "header": [100 + word for word in range(parts)],
        "first": first,
        "last": source.randrange(2),
        "start": start,
        "total": after_header + literals,
    }


def pack(config: CodecConfig, partial: list[int], placed: Any) -> tuple[list[list[int]], list[int]]:
    """Does what a packer does: the full beats, and the words of the last beat that has any."""
    lanes = config.lanes
    header = [placed.header[lane % len(placed.header)] for lane in range(lanes)]
    header_part = min(config.format.header_words, lanes)
    assert [placed.old >> lane & 1 for lane in range(lanes)] == [lane < len(partial) for lane in range(lanes)]
    rows: list[list[int]] = [[], [], list(placed.words)]
    for lane in range(lanes):
        if placed.old >> lane & 1:
            rows[0].append(partial[lane])
        else:
            rows[0].append(header[lane] if placed.in_header >> lane & 1 else placed.words[lane])
        of_header = lane < header_part and placed.in_header >> (lanes + lane) & 1
        rows[1].append(header[lane] if of_header else placed.words[lane])
    assert placed.over_one or not placed.over_two
    full = placed.over_one + placed.over_two
    return rows[:full], rows[full][: placed.remaining]


@pytest.mark.parametrize("pauses", [0, 0.4])
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_every_word_in_its_place(config: CodecConfig, pauses: float) -> None:
    lanes = config.lanes
    dut = Placement(config)
    source = random.Random(f"{config} {pauses}")
    parts = -(-config.format.header_words // lanes)
    cases = [
        (start, first, literals)
        for start in range(lanes + 1)
        for first in (True, False)
        for literals in range(lanes + 1)
        # The beat is empty only before the first step of a packet.
        if start or first
    ]
    source.shuffle(cases)

    async def check(ctx: Any) -> None:
        for start, first, literals in cases:
            given = step(config, source, start, first, literals)
            ctx.set(dut.step.payload, given)
            ctx.set(dut.step.valid, 1)
            old = [50 + lane for lane in range(start)]
            whole, partial = [], old
            takes = parts if first else 1
            while takes:
                ready = source.random() >= pauses
                ctx.set(dut.placed.ready, ready)
                assert ctx.get(dut.placed.valid)
                assert ctx.get(dut.step.ready) == (ready and takes == 1)
                if ready:
                    placed = ctx.get(dut.placed.payload)
                    full, partial = pack(config, partial, placed)
                    whole += full
                    takes -= 1
                    assert placed.last == (given["last"] and not takes)
                await ctx.tick()
            words = [word for beat in whole for word in beat] + partial
            header = given["header"] if first else []
            assert words == old + header + list(range(1, literals + 1)), f"{start} {first} {literals}"
            # A beat that is just full is kept.
            assert bool(partial) == bool(words)
            ctx.set(dut.step.valid, 0)
            assert not ctx.get(dut.placed.valid)

    # Short headers need no clock, but the test has one.
    m = Module()
    m.domains.sync = ClockDomain()
    m.submodules.dut = dut
    simulate(m, check)
