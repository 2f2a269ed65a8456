"""The decompressor in Amaranth's simulator: latency, cycles with one stored beat, packets that follow a corrupt one while
the output stands still. The regression has all else under Verilator.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from cdma.hdl.codec.generate import Decompressor
from cdma.hdl.codec.parts.interface import Error
from cdma.hdl.spec.codec import CodecConfig
from cdma.sim.codec.unpacking import unpacking_cycles
from tests.support.codec_bench import (
    CODECS,
    STANDARDS,
    Stream,
    decompress_packets,
    random_words,
    stream_of,
)
from tests.support.stimuli import sometimes
from tests.support.stream_bench import StreamBench, beats_of

PIPELINED = STANDARDS[1].values[0]


@pytest.mark.parametrize("config", STANDARDS)
def test_latency_of_a_dense_window(config: CodecConfig) -> None:
    (passed,) = decompress_packets(config, [(stream_of([1] * 64, config), 64)])
    assert passed.latency == (22 if config.pipelined else 2)


@pytest.mark.parametrize(
    "number",
    ["the standard", "header of four beats", "no queue, one lane", "one queued beat, window of a beat"],
)
def test_cycles_with_one_stored_beat_are_those_of_the_model(number: str) -> None:
    config = replace(CODECS[number], queue=0)
    source = random.Random(number)
    window = config.format.window
    packets = [
        random_words(source, config, count, source.choice([0.5, 0.9, 1]))
        for count in (1, window - 1, 5 * window, source.randrange(1, 4 * window))
    ]
    given = [(stream_of(words, config), len(words)) for words in packets]
    for words, passed in zip(packets, decompress_packets(config, given), strict=True):
        assert passed.cycles == unpacking_cycles(~np.isin(words, config.format.values), config)


@pytest.mark.slow
def test_a_packet_after_a_truncated_header_is_whole() -> None:
    """The packet after it fills the memories while its header is not read, because the output stands still."""
    config = CODECS["pipelined, header of a beat"]
    fmt = config.format
    source = random.Random(1)
    packets: list[Stream] = []
    for windows, missing in ((1, 1), (2, 8), (3, 1)):
        length = (windows + 1) * fmt.window
        dense = random_words(source, config, length, 1)
        whole = stream_of(dense[: windows * fmt.window], config)
        cut = stream_of(dense, config)[: len(whole) + fmt.header_words - missing]
        packets += [(cut, length), (stream_of(dense * 2, config), 2 * length)]
    decompress_packets(config, packets, {"output": sometimes(1, 0.97)})


@pytest.mark.slow
def test_leftover_words_are_dropped_while_the_output_stalls() -> None:
    """The end of a packet is known and fills the memories while its output waits; then another packet comes."""
    zeros = [0] * 8 * PIPELINED.format.window
    stream, good = stream_of(zeros, PIPELINED), [9, 0, 3]
    bench = StreamBench(Decompressor(PIPELINED))
    beats = range(26, 36)
    packets = [(stream + [7] * (8 * size - len(stream)), stream_of(good, PIPELINED)) for size in beats]
    bench.source("input", [beat for pair in packets for packet in pair for beat in beats_of(packet, 8)])
    bench.source("length", [len(zeros), len(good)] * len(beats))
    waited: Counter[int] = Counter()

    def stalls() -> bool:
        """For 150 cycles before each packet that is too long, until the input is full."""
        waited[len(received)] += 1
        return len(received) % 2 == 1 and waited[len(received)] <= 150

    received = bench.packets("output", 2 * len(beats), stalls)
    reports = bench.collect("report", 2 * len(beats))
    bench.run(6000)
    assert [packet.words for packet in received] == [zeros, good] * len(beats)
    assert [report.error for _, report in reports] == [Error.TRAILING, Error.NONE] * len(beats)
