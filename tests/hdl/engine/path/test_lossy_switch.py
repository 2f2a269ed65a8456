"""Packets through the error-bounded stage and around it, in both directions, against the specification."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from cdma.hdl.engine.path.lossy_switch import LossySwitch
from cdma.hdl.spec.quantisation import Quantisation
from cdma.sim.codec.integers import words_of
from cdma.sim.codec.packed import from_memory, to_memory
from cdma.sim.codec.quantise import dequantise, quantise
from cdma.verif.stream.stage.numbers import any_words
from tests.support.pauses import by_phases
from tests.support.stream_bench import StreamBench, beats_of

#: Numbers and integers, bits of a stream word, and how many a beat of raw data and one of the codec have.
SHAPES = [
    (Quantisation(), 8, 8, 2),
    (Quantisation("fp16", 8, keep_nonzero=True), 8, 16, 32),
    (Quantisation("fp32", 16), 8, 16, 4),
    (Quantisation("fp32", 16), 16, 8, 8),
    (Quantisation("fp32", 4), 4, 64, 8),
    (Quantisation("bf16", 4), 4, 16, 8),
]


def _cut(value: bytes, bits: int) -> list[int]:
    return from_memory(value, bits).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("quantises", [True, False], ids=["numbers", "integers"])
@pytest.mark.parametrize(("form", "words", "lanes", "codec_lanes"), SHAPES, ids=str)
def test_packets_of_any_step(
    form: Quantisation, words: int, lanes: int, codec_lanes: int, quantises: bool
) -> None:
    rng = random.Random(4)
    number_bits, bias = form.number_type.bits, form.number_type.bias
    sent, steps, expected, reports = [], [], [], []
    for count in (1, 2, lanes, 4 * lanes + 1, *(rng.randint(1, 60) for _ in range(20))):
        step = rng.choice((0, 1, form.greatest_step, rng.randint(1, form.greatest_step)))
        numbers = np.array(any_words(rng, form, max(step, 1) - bias, count), f"<u{number_bits // 8}")
        made = quantise(numbers, max(step, 1) - bias, form)
        # Integers of an odd number of 4 bits end within a byte.
        integers = _cut(to_memory(words_of(made.integers, form.bits), form.bits), words)[
            : count * form.bits // words
        ]
        raw = _cut(numbers.tobytes(), words)
        source, result = (raw, integers) if quantises else (integers, raw)
        if not quantises:
            result = _cut(dequantise(made.integers, max(step, 1) - bias, form).tobytes(), words)
        steps.append(step)
        sent.append(source)
        expected.append(result if step else source)
        reports += [(made.reported, made.first)] if step else []
    bench = StreamBench(LossySwitch(form, words, lanes, codec_lanes, quantises=quantises))
    width = lanes if quantises else codec_lanes
    bench.source("step", steps, by_phases("step"))
    bench.source("input", [beat for packet in sent for beat in beats_of(packet, width)], by_phases("input"))
    received = bench.packets("output", len(sent), by_phases("output"))
    said = bench.collect("report", len(reports), by_phases("report")) if quantises else []
    bench.run(20_000)
    assert [packet.words for packet in received] == expected
    if quantises:
        assert [(each.count, each.first) for _, each in said] == reports


@pytest.mark.parametrize(("step", "codec_lanes"), [(0, 32), (120, 8), (120, 32)])
def test_takes_a_beat_per_cycle(step: int, codec_lanes: int) -> None:
    """And between two packets a cycle more around the stage, up to five through it."""
    form, lanes = Quantisation(), 32
    beats = beats_of([0x3F] * (12 * lanes), lanes)
    bench = StreamBench(LossySwitch(form, 8, lanes, codec_lanes, quantises=True))
    bench.source("step", [step] * 3)
    bench.source("input", beats * 3)
    bench.packets("output", 3)
    if step:
        bench.collect("report", 3)
    bench.run(2000)
    gaps = [later - earlier for earlier, later in pairwise(bench.accepted["input"])]
    assert [gap for gap in gaps if gap != 1] == [(6 if codec_lanes > 8 else 5) if step else 2] * 2, gaps
