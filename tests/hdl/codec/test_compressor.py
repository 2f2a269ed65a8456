"""The compressor in Amaranth's simulator: the model's words and reports, the contract of cycles, malformed beats.

The regression has the same with more packets, more shapes and the whole contract, under Verilator.
"""

import random
from dataclasses import replace

import numpy as np
import pytest

from cdma.hdl.codec.compressor import Compressor
from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.spec.codec import CodecConfig
from cdma.sim.codec.packing import packing_cycles
from cdma.verif.stream.codec.frequent_value import BENCH
from tests.support.codec_bench import compress_packets, in_phases
from tests.support.codec_packets import (
    CODECS,
    LOADS,
    MALFORMED,
    STANDARDS,
    random_words,
    raw_packets,
    stream_of,
    windows_of_beats,
    work,
)
from tests.support.stream_bench import StreamBench, beats_of


def test_the_codecs_have_every_value_and_the_pairs_that_matter() -> None:
    configs = list(CODECS.values())

    def header(config: CodecConfig) -> int:
        """Shorter than a beat, a beat, or longer."""
        return np.sign(config.format.header_words - config.units)

    assert {config.format.word_bits for config in configs} == {2, 4, 8, 16, 32}
    assert {config.format.code_bits for config in configs} == {1, 2, 3, 4}
    assert {config.lanes for config in configs} == {1, 2, 4, 8}
    assert {(config.queue, header(config)) for config in configs if not config.pipelined} == {
        (queue, size) for queue in (0, 1, 2) for size in (-1, 0, 1)
    }
    assert {header(config) for config in configs if config.pipelined} == {-1, 0, 1}
    kinds = [(c.pipelined, c.format.field_bits > 0, c.format.align > 1) for c in configs]
    assert {(False, True, False), (False, False, True), (False, True, True)} <= set(kinds)
    assert {(True, True, False), (True, False, True)} <= set(kinds)
    assert {c.format.zero for c in configs if c.format.field_bits} == {False, True}
    assert {c.beats for c in configs} >= {1, 4, 32}
    assert {c.beats for c in configs if c.pipelined} >= {4, 8}


@pytest.mark.slow
@pytest.mark.parametrize("config", CODECS.values(), ids=CODECS)
def test_packets(config: CodecConfig) -> None:
    """Short ones and long ones, while every stream rests in phases of its own."""
    source = random.Random(str(config))
    compress_packets(config, raw_packets(config, source, 20), in_phases(str(config)))


@pytest.mark.parametrize("config", STANDARDS)
def test_bound(config: CodecConfig) -> None:
    packets = [windows_of_beats(config, [[6, 0, 0, 0], *patterns * 8]) for patterns in LOADS]
    for words, passed in zip(packets, compress_packets(config, packets), strict=True):
        limits = BENCH.limits(config, "compressor")
        assert passed.cycles <= work(config, words) / config.lanes + limits.constant


@pytest.mark.parametrize("config", STANDARDS)
def test_latency_of_a_dense_window(config: CodecConfig) -> None:
    (passed,) = compress_packets(config, [[1] * 64])
    assert passed.latency == (14 if config.pipelined else 4)


@pytest.mark.slow
@pytest.mark.parametrize("queue", [0, 1, 2])
@pytest.mark.parametrize(
    "name", ["the standard", "one lane, header of sixteen beats", "one queued beat, window of a beat"]
)
def test_cycles_are_those_of_the_model(name: str, queue: int) -> None:
    config = replace(CODECS[name], queue=queue)
    source = random.Random(f"{name} {queue}")
    window = config.format.window
    arrives = max(config.beats - 1, (config.lanes.bit_length() + 3) // 2)
    literal = next(word for word in range(1, 4) if word not in config.format.values)
    packets = [random_words(source, config, count, 0.7) for count in (1, window - 1, 4 * window + 3)]
    # Windows that fill whole beats: the last of them must not stay behind and meet the next header.
    literals = max(0, window - config.format.header_words)
    packets.append(([literal] * literals + [config.format.values[0]] * (window - literals)) * 4)
    for words, passed in zip(packets, compress_packets(config, packets), strict=True):
        stored = ~np.isin(words, config.format.values)
        assert passed.cycles == arrives + packing_cycles(stored, config) + (queue == 1)


@pytest.mark.parametrize("config", STANDARDS)
@pytest.mark.parametrize(("keep", "last"), MALFORMED)
def test_malformed_beat_is_reported(config: CodecConfig, keep: int, last: int) -> None:
    bench = StreamBench(Compressor(config))
    bad = [{"data": [1] * 8, "keep": keep, "last": last}]
    if not last:
        bad += beats_of([5] * 11, 8)
    bench.source("input", bad + beats_of([9, 0, 3], 8))
    received = bench.packets("output", 2)
    reports = bench.collect("report", 2)
    bench.run(300)
    assert [report.error for _, report in reports] == [Error.BEAT, Error.NONE]
    assert [report.words_out for _, report in reports] == [len(packet.words) for packet in received]
    assert received[1].words == stream_of([9, 0, 3], config)
