"""Windows taken apart into beats: against a list of the beats."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.codec.pipelined.beat_planner import BeatPlanner
from cdma.hdl.codec.pipelined.intake import rows_of
from cdma.hdl.spec.codec import CodecConfig
from tests.support.pipelined_codecs import CONFIGS
from tests.support.simulate import simulate


def thermometer(value: int) -> int:
    return (1 << value) - 1


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
            # An invalid code anywhere in the window counts before missing literals.
            wrong = error if bad else Error.TRUNCATED
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
        "any_bad": int(bad != 0),
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
