"""Packets of every mode through the switch: what comes out, and how close they follow each other."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from cdma.hdl.codec.compressor import Compressor
from cdma.hdl.codec.decompressor import Decompressor
from cdma.hdl.engine.path.codec_switch import CodecSwitch
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.model import compress_words
from tests.support.pauses import Pause, never, sometimes
from tests.support.stream_bench import Packet, StreamBench, beats_of

_VALUES = (0, 7, 9)
_LANES = 4
_FVC = Format(word_bits=16, window=16, code_bits=2, values=_VALUES)
_CONFIG = CodecConfig(_FVC, lanes=_LANES, runtime_values=True)
#: Stream words are bytes.
_FIELDS = CodecConfig(
    Format(16, 16, 2, _VALUES, field_bits=8, rotate=1, align=4), lanes=_LANES, runtime_values=True
)

#: Mode and words of a packet.
_Case = tuple[str, list[int]]


def _parts(words: list[int], form: Format) -> list[int]:
    """The stream words of raw words."""
    return np.array(words, np.uint16).view(f"u{form.stream_bits // 8}").tolist()


def _stream(case: _Case, form: Format) -> list[int]:
    mode, words = case
    if mode == "raw":
        return _parts(words, form)
    coded = form.with_table((0,)) if mode == "zvc" else form
    return compress_words(np.array(words, np.uint16), coded).tolist()


def _run(
    cases: list[_Case],
    compressing: bool,
    pauses: tuple[Pause, Pause, Pause] = (never, never, never),
    config: CodecConfig = _CONFIG,
) -> tuple[StreamBench, list[Packet]]:
    """Sends the packets; checks what comes out."""
    form = config.format
    codec = (Compressor if compressing else Decompressor)(config)
    dut = CodecSwitch(codec, config, packets=4)
    bench = StreamBench(dut)
    raw = [_parts(words, form) for _, words in cases]
    coded = [_stream(case, form) for case in cases]
    sent, wanted = (raw, coded) if compressing else (coded, raw)
    source, sink, routes = pauses
    bench.source("input", [beat for words in sent for beat in beats_of(words, config.units)], source)
    bench.source(
        "routes",
        [{"raw": mode == "raw", "zeros": mode == "zvc", "words": len(words)} for mode, words in cases],
        routes,
    )
    received = bench.packets("output", len(cases), sink)
    coded_cases = sum(mode != "raw" for mode, _ in cases)
    reports = bench.collect("report", coded_cases) if coded_cases else []

    async def table(ctx: Any) -> None:
        ctx.set(dut.values, list(_VALUES))

    bench.simulator.add_testbench(table)
    bench.run(2000 + 40 * sum(map(len, raw)))
    assert [packet.words for packet in received] == wanted
    assert all(report.error.value == 0 for _, report in reports)
    return bench, received


@pytest.mark.parametrize("compressing", [True, False], ids=["compressor", "decompressor"])
@pytest.mark.parametrize("pause", [0, 0.4])
@pytest.mark.parametrize("config", [_CONFIG, _FIELDS], ids=["words", "fields"])
def test_packets_of_every_mode(compressing: bool, pause: float, config: CodecConfig) -> None:
    """Of any length, from one word on, in runs of the same mode and one by one."""
    rng = random.Random(7)
    cases: list[_Case] = []
    while len(cases) < 150:
        mode = rng.choice(("raw", "zvc", "fvc"))
        for _ in range(rng.choice((1, 1, 2, 4))):
            count = rng.choice((1, 2, _LANES, _LANES + 1, 16, 17, rng.randrange(1, 100)))
            cases.append((mode, [rng.choice((0, 0, 7, 9, rng.randrange(1 << 16))) for _ in range(count)]))
    pauses = [sometimes((pause, name), pause) if pause else never for name in range(3)]
    _run(cases, compressing, (pauses[0], pauses[1], pauses[2]), config)


@pytest.mark.parametrize("compressing", [True, False], ids=["compressor", "decompressor"])
@pytest.mark.parametrize("mode", ["raw", "zvc", "fvc"])
def test_packets_of_one_mode_follow_each_other_without_a_gap(mode: str, compressing: bool) -> None:
    count, words = 8, 64
    bench, received = _run([(mode, list(range(1 << 8, (1 << 8) + words)))] * count, compressing)
    beats = len(bench.accepted["input"]) // count
    # A codec may take a cycle of its own between packets.
    each = max(beats, len(received[0].cycles)) + (mode != "raw")
    for times in (bench.accepted["input"][beats - 1 :: beats], [packet.cycles[-1] for packet in received]):
        assert times[-1] - times[0] <= (count - 1) * each
