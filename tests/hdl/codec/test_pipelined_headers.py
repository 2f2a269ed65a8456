"""What a pipelined decompressor knows of a window before it takes it apart, and how it does: against plain lists."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.codec.pipelined.beat_planner import BeatPlanner
from cdma.hdl.codec.pipelined.header_check import HeaderCheck
from cdma.hdl.codec.pipelined.intake import rows_of
from cdma.hdl.codec.pipelined.words_left import WordsLeft
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from tests.support.simulate import simulate

CONFIGS = [
    CodecConfig(lanes=8, pipelined=True),
    CodecConfig(Format(8, 32, 4, (0, 1, 2)), 4, pipelined=True),
    CodecConfig(Format(8, 32, 2, (0, 1)), 1, pipelined=True),
    CodecConfig(Format(16, 64, 2, (0, 1, 2)), 16, pipelined=True),
    CodecConfig(Format(8, 64, 4, (5,)), 2, runtime_values=True, pipelined=True),
]


def thermometer(value: int) -> int:
    return (1 << value) - 1


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_header_check(config: CodecConfig) -> None:
    fmt, lanes = config.format, config.lanes
    dut = HeaderCheck(config)
    source = random.Random(str(config))
    good = [*range(config.table_size), fmt.literal_code]

    async def check(ctx: Any) -> None:
        for turn in range(250):
            words = source.choice([fmt.window, 1, lanes, lanes + 1, source.randint(1, fmt.window)])
            words = min(words, fmt.window)
            beats = -(-words // lanes)
            codes = [source.choice(good) for _ in range(words)] + [0] * (fmt.window - words)
            if turn % 3:
                # One place or many where anything may stand.
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
                if config.table_size <= codes[word] < fmt.literal_code:
                    bad |= 1 << word // lanes
            if any(codes[words:]):
                bad |= 1 << (beats - 1)
            await ctx.tick()
            assert list(ctx.get(dut.counts)) == counts
            await ctx.tick()
            assert ctx.get(dut.total) == sum(counts)
            assert ctx.get(dut.bad) == bad
            assert ctx.get(dut.any_bad) == bool(bad)

    simulate(dut, check)


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
                # It stays so.
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


def window_of(config: CodecConfig, source: random.Random) -> tuple[dict[str, Any], list[dict[str, int]]]:
    """A window as a reader hands it on, and the beats that it must become."""
    fmt, lanes = config.format, config.lanes
    code_bits = lanes * fmt.code_bits
    places = 2 * rows_of(config) * lanes
    beats = source.choice([1, config.beats, source.randint(1, config.beats)])
    counts = [source.randint(0, lanes) for _ in range(config.beats)]
    codes = source.getrandbits(fmt.window * fmt.code_bits)
    place = source.randrange(places)
    last = beats < config.beats or source.random() < 0.3
    words = source.randrange(lanes) if last else lanes - 1
    bad = 1 << source.randrange(beats) if source.random() < 0.2 else 0
    total = sum(counts[:beats])
    short = total > 0 and source.random() < 0.4
    available = source.randrange(total) if short else source.randint(total, fmt.window)
    error = source.choice([Error.CODE, Error.TRAILING])
    planned = []
    before = 0
    for beat in range(beats):
        final = last and beat == beats - 1
        wrong = Error.NONE
        if bad >> beat & 1:
            wrong = error
        elif before + counts[beat] > available:
            wrong = Error.TRUNCATED
        planned.append(
            {
                "codes": codes >> beat * code_bits & thermometer(code_bits),
                "place": (place + before) % places,
                "literals": counts[beat],
                "words": words if final else lanes - 1,
                "last": int(final or wrong != Error.NONE),
                "error": wrong.value,
            }
        )
        before += counts[beat]
        if wrong != Error.NONE:
            break
    window = {
        "codes": codes,
        "counts": counts,
        "place": {"lane": place % lanes, "beat": place // lanes},
        "more": thermometer(beats - 1),
        "words": words,
        "last": int(last),
        "bad": bad,
        "error": error,
        "short": int(short),
        "available": available,
    }
    return window, planned


@pytest.mark.parametrize("pauses", [0, 0.4])
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_beat_planner(config: CodecConfig, pauses: float) -> None:
    dut = BeatPlanner(config)
    lanes = config.lanes
    source = random.Random(f"{config} {pauses}")
    windows = [window_of(config, source) for _ in range(120)]
    expected = [beat for _, beats in windows for beat in beats]
    # A beat of a window that lacks literals takes two cycles.
    cost = sum(len(beats) * (1 + window["short"]) for window, beats in windows)

    async def check(ctx: Any) -> None:
        waiting = [window for window, _ in windows]
        got: list[dict[str, int]] = []
        offers = plans = False
        cycles = 0
        while len(got) < len(expected):
            assert cycles < 10 * cost + 100
            assert ctx.get(dut.there) == plans
            if plans:
                beat = ctx.get(dut.planned)
                place = beat.place.beat * lanes + (beat.place.lane if lanes > 1 else 0)
                fields = {name: getattr(beat, name) for name in ("codes", "literals", "words", "last")}
                got.append({**fields, "place": place, "error": beat.error.value})
                assert got[-1] == expected[len(got) - 1], f"beat {len(got)}"
            if waiting and not offers and source.random() >= pauses:
                ctx.set(dut.window.payload, waiting[0])
                ctx.set(dut.window.valid, 1)
                offers = True
            go = source.random() >= pauses
            ctx.set(dut.go, go)
            plans = bool(ctx.get(dut.plans))
            assert go or not plans
            assert ctx.get(dut.busy) or not plans
            taken = offers and ctx.get(dut.window.ready)
            await ctx.tick()
            cycles += 1
            if taken:
                waiting.pop(0)
                offers = False
                ctx.set(dut.window.valid, 0)
        assert not waiting
        assert not ctx.get(dut.busy)
        if not pauses:
            assert cycles == cost + 2

    simulate(dut, check)
