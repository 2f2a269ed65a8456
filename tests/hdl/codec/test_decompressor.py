"""The decompressor in Amaranth's simulator: the model's words and reports for whole and corrupt packets, the bound."""

import random
from dataclasses import replace

import numpy as np
import pytest

from cdma.hdl.codec.decompressor import Decompressor
from cdma.hdl.codec.parts.streams import Error
from cdma.sim.codec.unpacking import unpacking_cycles
from tests.support.codec_bench import cycles_taken, decompress_packets
from tests.support.codec_packets import (
    CONFIGS,
    LOADS,
    corrupt,
    fault_pairs,
    random_words,
    stream_of,
    streams,
    windows_of_beats,
    work,
)
from tests.support.stream_bench import StreamBench, beats_of


@pytest.mark.parametrize("pauses", [0, 0.4])
@pytest.mark.parametrize("number", range(len(CONFIGS)))
def test_packets(number: int, pauses: float) -> None:
    source = random.Random(f"{number} {pauses}")
    decompress_packets(CONFIGS[number], streams(CONFIGS[number], source, 8), pauses=pauses, seed=number)


@pytest.mark.parametrize("pauses", [0, 0.4])
@pytest.mark.parametrize("number", [0, 1, 3, 6])
def test_corrupt_packets(number: int, pauses: float) -> None:
    config = CONFIGS[number]
    source = random.Random(f"{number} {pauses}")
    packets = [corrupt(config, source, packet) for packet in streams(config, source, 12)]
    decompress_packets(config, packets, pauses=pauses, seed=number)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 4, 5])
def test_of_two_faults_the_first_is_reported(number: int) -> None:
    decompress_packets(CONFIGS[number], fault_pairs(CONFIGS[number]))


@pytest.mark.parametrize("patterns", LOADS)
def test_bound(patterns: list[list[int]]) -> None:
    config = CONFIGS[0]
    words = windows_of_beats(config, [[6, 0, 0, 0], *patterns * 10])
    bench, (packet,) = decompress_packets(config, [(stream_of(words, config), len(words))])
    assert cycles_taken(bench, packet) <= work(config, words) / config.lanes + 8


@pytest.mark.parametrize("before", range(8))
def test_bound_with_two_dense_windows_again_and_again(before: int) -> None:
    """Two dense windows, and one that makes the sum a whole number of beats: with a row too few, each costs a cycle."""
    config = CONFIGS[0]
    words = windows_of_beats(config, [[before, 0, 0, 0], *[[8, 8, 8, 8], [8, 8, 8, 8], [5, 0, 0, 0]] * 20])
    bench, (packet,) = decompress_packets(config, [(stream_of(words, config), len(words))])
    assert cycles_taken(bench, packet) <= work(config, words) / config.lanes + 8


def test_a_dense_window_after_one_short_of_dense_counts_whole_beats() -> None:
    """The rows are full when two words of the oldest beat are left, so the input waits: 9 cycles for a sum of 8.125."""
    config, periods = CONFIGS[0], 20
    words = windows_of_beats(config, [[8, 7, 7, 8], [8, 8, 8, 8]] * periods)
    bench, (packet,) = decompress_packets(config, [(stream_of(words, config), len(words))])
    assert work(config, words) / config.lanes == 8.125 * periods
    assert 9 * periods <= cycles_taken(bench, packet) <= 9 * periods + 8


@pytest.mark.parametrize("number", range(len(CONFIGS)))
def test_cycles_with_one_stored_beat_are_those_of_the_model(number: int) -> None:
    config = replace(CONFIGS[number], queue=0)
    source = random.Random(number)
    window = config.format.window
    for count in (1, window - 1, 5 * window, source.randrange(1, 4 * window)):
        words = random_words(source, config, count, source.choice([0.5, 0.9, 1]))
        bench, (packet,) = decompress_packets(config, [(stream_of(words, config), count)])
        stored = ~np.isin(words, config.format.values)
        assert cycles_taken(bench, packet) == unpacking_cycles(stored, config)


@pytest.mark.parametrize("pauses", [0, 0.4])
@pytest.mark.parametrize("number", range(len(CONFIGS)))
def test_packets_with_one_stored_beat(number: int, pauses: float) -> None:
    config = replace(CONFIGS[number], queue=0)
    source = random.Random(f"{number} {pauses}")
    packets = streams(config, source, 8)
    packets += [corrupt(config, source, packet) for packet in streams(config, source, 8)]
    decompress_packets(config, packets, pauses=pauses, report_pauses=0.7 if pauses else None, seed=number)


@pytest.mark.parametrize(("queue", "cycles"), [(2, 2), (0, 1)])
def test_latency(queue: int, cycles: int) -> None:
    words = [1] * 64
    config = replace(CONFIGS[0], queue=queue)
    bench, (packet,) = decompress_packets(config, [(stream_of(words, config), 64)])
    assert packet.cycles[0] - bench.accepted["input"][0] == cycles


def test_malformed_beat_is_reported() -> None:
    config = CONFIGS[0]
    bench = StreamBench(Decompressor(config))
    good = stream_of([9, 0, 3], config)
    bad = [{"data": [3] * 8, "keep": 0b11101111, "last": 0}, *beats_of([1] * 8, 8)]
    bench.source("input", bad + beats_of(good, 8))
    bench.source("length", [20, 3])
    received = bench.packets("output", 2)
    reports = bench.collect("report", 2)
    bench.run(200)
    assert [report.error for _, report in reports] == [Error.BEAT, Error.NONE]
    assert received[1].words == [9, 0, 3]
