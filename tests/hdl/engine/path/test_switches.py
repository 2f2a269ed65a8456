"""Packets through the switch around a codec: words of half a byte, and what it says of stalls. Other words, the stage, and
how close packets follow each other are for the regression of engines.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.engine.path.switches import CodecSwitch
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.headers import from_memory, to_memory
from cdma.sim.codec.model import compress_words
from cdma.sim.codec.words import stream_dtype, word_dtype
from tests.support.stimuli import Pause, by_phases, never
from tests.support.stream_bench import StreamBench, beats_of

_VALUES = (0, 7, 9)
_LANES = 4
_CONFIG = CodecConfig(Format(16, 16, 2, _VALUES), lanes=_LANES, runtime_values=True)
#: Two stream words are in a byte of what memories move.
_HALVES = CodecConfig(Format(4, 16, 2, _VALUES, align=2), lanes=_LANES, runtime_values=True)


#: Mode and words of a packet.
_Case = tuple[str, list[int]]


def _parts(words: list[int], form: Format) -> list[int]:
    """The stream words of raw words."""
    raw = np.array(words, word_dtype(form))
    return raw.view(stream_dtype(form)).tolist()


def _stream(case: _Case, form: Format) -> list[int]:
    """What memories move of a packet that has left the switch of a compressor."""
    mode, words = case
    if mode == "raw":
        stream = np.array(_parts(words, form), stream_dtype(form))
    else:
        stream = compress_words(
            np.array(words, word_dtype(form)), form.with_table((0,)) if mode == "zvc" else form
        )
    return from_memory(to_memory(stream, form.stream_bits), form.moved_bits).tolist()


def _soiled(case: _Case, stream: list[int], form: Format) -> list[int]:
    """The same with something in the half of the last byte in which there is no word."""
    filled = case[0] == "raw" and form.stream_bits == 4 and len(case[1]) % 2
    return [*stream[:-1], stream[-1] | 0xF0] if filled else stream


def _run(
    config: CodecConfig,
    cases: list[_Case],
    compressing: bool,
    pause: Pause = never,
    watch: Callable[[StreamBench, CodecSwitch], None] = lambda bench, dut: None,
) -> None:
    """Sends the packets, with ``pause`` before their routes, and checks what comes out; ``watch`` may add a process that
    looks at the switch."""
    form = config.format
    dut = CodecSwitch((Compressor if compressing else Decompressor)(config), config, packets=4)
    bench = StreamBench(dut)
    raw = [_parts(words, form) for _, words in cases]
    coded = [_stream(case, form) for case in cases]
    sent, wanted = (raw, coded) if compressing else (coded, raw)
    if not compressing:
        sent = [_soiled(case, stream, form) for case, stream in zip(cases, coded, strict=True)]
    lanes = len(dut.input.payload.keep)
    beats = [beat for words in sent for beat in beats_of(words, lanes)]
    for beat in beats:
        # What is not kept may be anything.
        kept = beat["keep"].bit_count()
        beat["data"][kept:] = [0xF] * (lanes - kept)
    routes = [{"raw": mode == "raw", "zeros": mode == "zvc", "words": len(words)} for mode, words in cases]
    bench.source("input", beats, by_phases(1))
    bench.source("routes", routes, pause)
    received = bench.packets("output", len(cases), by_phases(2))
    reports = bench.collect("report", sum(mode != "raw" for mode, _ in cases))

    async def table(ctx: Any) -> None:
        ctx.set(dut.values, list(_VALUES))

    bench.simulator.add_testbench(table)
    watch(bench, dut)
    bench.run(2000 + 40 * sum(map(len, raw)))
    assert [packet.words for packet in received] == wanted
    assert all(report.error.value == 0 for _, report in reports)


@pytest.mark.slow
@pytest.mark.parametrize("compressing", [True, False], ids=["compressor", "decompressor"])
def test_packets_of_every_mode(compressing: bool) -> None:
    """Of any length, from one word on, in runs of the same mode and one by one."""
    rng = random.Random(7)
    cases: list[_Case] = []
    while len(cases) < 90:
        mode = rng.choice(("raw", "zvc", "fvc"))
        for _ in range(rng.choice((1, 1, 2, 4))):
            count = rng.choice((1, 2, _LANES, _LANES + 1, 16, 17, rng.randrange(1, 100)))
            cases.append((mode, [rng.choice((0, 0, 7, 9, rng.randrange(16))) for _ in range(count)]))
    _run(_HALVES, cases, compressing, by_phases(3))


@pytest.mark.parametrize("compressing", [True, False], ids=["compressor", "decompressor"])
def test_stalls_are_what_the_streams_show(compressing: bool) -> None:
    """A wait is the sink's while a beat is offered and not taken, the codec's while one is not taken from the source, and
    the source's while a packet that has begun has no beat."""
    cases: list[_Case] = [("zvc", [number % 5 for number in range(64)])] * 8
    seen: dict[str, list[bool]] = {name: [] for name in ("starved", "refused", "blocked", "within")}
    shown: dict[str, list[bool]] = {name: [] for name in ("starved", "refused", "blocked")}

    def watch(bench: StreamBench, dut: CodecSwitch) -> None:
        async def look(ctx: Any) -> None:
            within = False
            source, sink = dut.input, dut.output
            pins = (source.valid, source.ready, source.payload.last, sink.valid, sink.ready)
            ends = ctx.tick().sample(*pins, dut.starved, dut.refused, dut.blocked)
            async for _, _, offered, taken, last, out, willing, *says in ends:
                blocked = bool(out and not willing)
                seen["blocked"].append(blocked)
                seen["refused"].append(bool(offered and not taken and not blocked))
                seen["starved"].append(bool(not offered and not blocked))
                seen["within"].append(bool(within and not offered and not blocked))
                for name, value in zip(shown, says, strict=True):
                    shown[name].append(bool(value))
                if offered and taken:
                    within = not last

        bench.simulator.add_testbench(look, background=True)

    _run(_CONFIG, cases, compressing, watch=watch)
    assert shown["blocked"] == seen["blocked"]
    assert shown["refused"] == seen["refused"]
    each = list(zip(seen["within"], shown["starved"], seen["starved"], strict=True))
    assert all(least <= says <= most for least, says, most in each)
    assert min(sum(seen[name]) for name in ("within", "refused", "blocked")) > 2
