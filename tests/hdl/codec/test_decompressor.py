"""The decompressor in Amaranth's simulator: the model's words and reports for whole and corrupt packets, the contract.

The regression has the same with more packets, more shapes and the whole contract, under Verilator.
"""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from cdma.hdl.codec.decompressor import Decompressor
from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.spec.codec import CodecConfig
from cdma.sim.codec.unpacking import unpacking_cycles
from cdma.verif.stream.codec.frequent_value import BENCH
from tests.support.codec_bench import decompress_packets, in_phases
from tests.support.codec_packets import (
    CODECS,
    LOADS,
    MALFORMED,
    STANDARDS,
    Stream,
    corrupt,
    fault_pairs,
    random_words,
    stream_of,
    streams,
    windows_of_beats,
    work,
)
from tests.support.pauses import sometimes
from tests.support.stream_bench import StreamBench, beats_of

PIPELINED = STANDARDS[1].values[0]


@pytest.mark.slow
@pytest.mark.parametrize("config", CODECS.values(), ids=CODECS)
def test_whole_and_corrupt_packets(config: CodecConfig) -> None:
    """Short ones and long ones, while every stream rests in phases of its own."""
    source = random.Random(str(config))
    packets = [
        corrupt(config, source, packet) if number % 3 else packet
        for number, packet in enumerate(streams(config, source, 24))
    ]
    decompress_packets(config, packets, in_phases(str(config)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "the standard",
        "header of four beats",
        "one queued beat, header of a beat",
        "pipelined",
        "pipelined, header of a beat",
        "pipelined, one lane, window of four words",
    ],
)
def test_of_two_faults_the_first_is_reported(name: str) -> None:
    decompress_packets(CODECS[name], fault_pairs(CODECS[name]), {})


@pytest.mark.slow
@pytest.mark.parametrize("config", STANDARDS)
def test_bound(config: CodecConfig) -> None:
    """With a row too few, two dense windows, and one that makes the sum a whole number of beats, cost a cycle each time."""
    loads = [*LOADS, [[8, 8, 8, 8], [8, 8, 8, 8], [5, 0, 0, 0]]]
    packets = [windows_of_beats(config, [[6, 0, 0, 0], *patterns * 8]) for patterns in loads]
    limits = BENCH.limits(config, "decompressor")
    given = [(stream_of(words, config), len(words)) for words in packets]
    for words, passed in zip(packets, decompress_packets(config, given), strict=True):
        assert passed.cycles <= work(config, words) / config.lanes + limits.constant


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
@pytest.mark.parametrize("config", STANDARDS)
@pytest.mark.parametrize(("keep", "last"), MALFORMED)
def test_malformed_beat_is_reported(config: CodecConfig, keep: int, last: int) -> None:
    bench = StreamBench(Decompressor(config))
    bad = [{"data": [3] * 8, "keep": keep, "last": last}]
    if not last:
        bad += beats_of([1] * 8, 8)
    bench.source("input", bad + beats_of(stream_of([9, 0, 3], config), 8))
    bench.source("length", [20, 3])
    received = bench.packets("output", 2)
    reports = bench.collect("report", 2)
    bench.run(300)
    assert [report.error for _, report in reports] == [Error.BEAT, Error.NONE]
    assert [report.words_out for _, report in reports] == [len(packet.words) for packet in received]
    assert received[1].words == [9, 0, 3]


@pytest.mark.slow
def test_reports_that_wait_stop_the_next_packets() -> None:
    """More packets come than reports can wait; none is lost, and none waits for ever."""
    source = random.Random(1)
    packets = []
    for number in range(40):
        words = random_words(source, PIPELINED, source.randint(1, 12), 0.5)
        packet = (stream_of(words, PIPELINED), len(words))
        packets.append(corrupt(PIPELINED, source, packet) if number % 2 else packet)
    decompress_packets(PIPELINED, packets, {"report": sometimes(1, 0.95)})


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
