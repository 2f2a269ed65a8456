"""The compressor in Amaranth's simulator: the model's words and reports, the bound, the latency, malformed beats."""

import random
from dataclasses import replace

import numpy as np
import pytest

from cdma.hdl.codec.compressor import Compressor
from cdma.hdl.codec.parts.streams import Error
from cdma.sim.codec.packing import packing_cycles
from tests.support.codec_bench import compress_packets, cycles_taken
from tests.support.codec_packets import (
    CONFIGS,
    LOADS,
    MALFORMED,
    random_words,
    raw_packets,
    stream_of,
    windows_of_beats,
    work,
)
from tests.support.stream_bench import StreamBench, beats_of


@pytest.mark.parametrize("pauses", [0, 0.4])
@pytest.mark.parametrize("number", range(len(CONFIGS)))
def test_packets(number: int, pauses: float) -> None:
    config = CONFIGS[number]
    source = random.Random(f"{number} {pauses}")
    compress_packets(config, raw_packets(config, source, 8), pauses=pauses, seed=number)


@pytest.mark.parametrize("patterns", LOADS)
def test_bound(patterns: list[list[int]]) -> None:
    config = CONFIGS[0]
    words = windows_of_beats(config, [[6, 0, 0, 0], *patterns * 10])
    bench, (packet,) = compress_packets(config, [words])
    assert cycles_taken(bench, packet) <= work(config, words) / config.lanes + 8


@pytest.mark.parametrize("queue", [0, 1, 2])
@pytest.mark.parametrize("number", range(len(CONFIGS)))
def test_cycles_are_those_of_the_model(number: int, queue: int) -> None:
    config = replace(CONFIGS[number], queue=queue)
    source = random.Random(f"{number} {queue}")
    window = config.format.window
    arrives = max(config.beats - 1, (config.lanes.bit_length() + 3) // 2)
    literal = next(word for word in range(1, 4) if word not in config.format.values)
    counts = (1, window - 1, 5 * window, source.randrange(1, 4 * window))
    packets = [random_words(source, config, count, source.choice([0.5, 0.9, 1])) for count in counts]
    # Windows that fill whole beats: the last of them must not stay behind and meet the next header.
    literals = max(0, window - config.format.header_words)
    packets.append(([literal] * literals + [config.format.values[0]] * (window - literals)) * 6)
    for words in packets:
        bench, (packet,) = compress_packets(config, [words])
        stored = ~np.isin(words, config.format.values)
        assert cycles_taken(bench, packet) == arrives + packing_cycles(stored, config) + (queue == 1)


@pytest.mark.parametrize("pauses", [0, 0.4])
@pytest.mark.parametrize("queue", [0, 1])
@pytest.mark.parametrize("number", range(len(CONFIGS)))
def test_packets_through_small_queues(number: int, queue: int, pauses: float) -> None:
    config = replace(CONFIGS[number], queue=queue)
    source = random.Random(f"{number} {queue} {pauses}")
    compress_packets(config, raw_packets(config, source, 8), pauses=pauses, seed=number)


def test_latency() -> None:
    bench, (packet,) = compress_packets(CONFIGS[0], [[1] * 64])
    assert packet.cycles[0] - bench.accepted["input"][0] == 4


@pytest.mark.parametrize(("keep", "last"), MALFORMED)
def test_malformed_beat_is_reported(keep: int, last: int) -> None:
    config = CONFIGS[0]
    bench = StreamBench(Compressor(config))
    bad = [{"data": [1] * 8, "keep": keep, "last": last}]
    if not last:
        bad += beats_of([5] * 11, 8)
    bench.source("input", bad + beats_of([9, 0, 3], 8))
    received = bench.packets("output", 2)
    reports = bench.collect("report", 2)
    bench.run(200)
    assert reports[0][1].error == Error.BEAT
    assert reports[0][1].words_out == len(received[0].words)
    assert reports[1][1].error == Error.NONE
    assert received[1].words == stream_of([9, 0, 3], config)
