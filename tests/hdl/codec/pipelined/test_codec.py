"""Pipelined codecs in Amaranth's simulator: the words and reports of the model, with and without pauses, and the limits."""

from __future__ import annotations

import random

import pytest

from cdma.hdl.codec.compressor import Compressor
from cdma.hdl.codec.decompressor import Decompressor
from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.spec.codec import CodecConfig
from cdma.verif.stream.codec.frequent_value import BENCH
from tests.support.codec_bench import compress_packets, cycles_taken, decompress_packets
from tests.support.codec_packets import (
    LOADS,
    MALFORMED,
    PIPELINED,
    corrupt,
    fault_pairs,
    random_words,
    raw_packets,
    stream_of,
    streams,
    windows_of_beats,
    work,
)
from tests.support.stream_bench import StreamBench, beats_of

STANDARD = PIPELINED[0]
NUMBERS = range(len(PIPELINED))


def test_the_configurations_are_those_that_matter() -> None:
    assert all(config.pipelined for config in PIPELINED)
    parts = [config.format.header_words / config.lanes for config in PIPELINED]
    assert min(parts) < 1 < max(parts)
    assert {1, 2, 4, 8} <= {config.lanes for config in PIPELINED}
    assert min(config.beats for config in PIPELINED) == 4


@pytest.mark.parametrize("pauses", [0, 0.4])
@pytest.mark.parametrize("number", NUMBERS)
def test_compresses(number: int, pauses: float) -> None:
    source = random.Random(f"{number} {pauses}")
    compress_packets(PIPELINED[number], raw_packets(PIPELINED[number], source, 8), pauses=pauses, seed=number)


@pytest.mark.parametrize("pauses", [0, 0.4])
@pytest.mark.parametrize("number", NUMBERS)
def test_decompresses(number: int, pauses: float) -> None:
    source = random.Random(f"{number} {pauses}")
    decompress_packets(PIPELINED[number], streams(PIPELINED[number], source, 8), pauses=pauses, seed=number)


@pytest.mark.slow
@pytest.mark.parametrize("pauses", [0, 0.4, 0.8])
@pytest.mark.parametrize("number", NUMBERS)
def test_decompresses_corrupt_packets(number: int, pauses: float) -> None:
    config = PIPELINED[number]
    source = random.Random(f"{number} {pauses}")
    packets = [corrupt(config, source, packet) for packet in streams(config, source, 16)]
    decompress_packets(config, packets, pauses=pauses, seed=number)


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_of_two_faults_the_first_is_reported(number: int) -> None:
    decompress_packets(PIPELINED[number], fault_pairs(PIPELINED[number]))


@pytest.mark.parametrize("number", NUMBERS)
def test_short_packets(number: int) -> None:
    """Many packets of a few words: nothing of one may reach the next."""
    config = PIPELINED[number]
    source = random.Random(number)
    packets = [random_words(source, config, source.randint(1, 3), source.random()) for _ in range(60)]
    compress_packets(config, packets)
    streams = [(stream_of(packet, config), len(packet)) for packet in packets]
    decompress_packets(config, [corrupt(config, source, stream) for stream in streams])


@pytest.mark.slow
@pytest.mark.parametrize("report_pauses", [0.9, 0.98])
def test_reports_that_wait_stop_the_next_packets(report_pauses: float) -> None:
    """More packets come than reports can wait; none is lost, and none waits for ever."""
    source = random.Random(report_pauses)
    packets = [random_words(source, STANDARD, source.randint(1, 12), 0.5) for _ in range(60)]
    compress_packets(STANDARD, packets, report_pauses=report_pauses)
    streams = [(stream_of(packet, STANDARD), len(packet)) for packet in packets]
    decompress_packets(STANDARD, streams, report_pauses=report_pauses)
    broken = [corrupt(STANDARD, source, stream) for stream in streams]
    decompress_packets(STANDARD, broken, report_pauses=report_pauses)


@pytest.mark.parametrize("missing", [1, 8])
def test_a_packet_after_a_truncated_header_is_whole(missing: int) -> None:
    """The packet after it fills the memories while its header is not read, because the output stands still."""
    config = next(each for each in PIPELINED if each.format.header_words == each.units == 8)
    fmt = config.format
    source = random.Random(missing)
    packets: list[tuple[list[int], int]] = []
    for windows in (1, 2, 3):
        length = (windows + 1) * fmt.window
        dense = random_words(source, config, length, 1)
        whole = stream_of(dense[: windows * fmt.window], config)
        cut = stream_of(dense, config)[: len(whole) + fmt.header_words - missing]
        packets += [(cut, length), (stream_of(dense * 3, config), 3 * length)]
    decompress_packets(config, packets, output_pauses=0.97)


def cost(config: CodecConfig, words: list[int]) -> int:
    """The cycles of the contract without the constant, for whole windows."""
    window = config.format.window
    assert len(words) % window == 0
    parts = -(-config.format.header_words // config.lanes)
    return -(-work(config, words) // config.lanes) + (parts - 1) * (len(words) // window)


@pytest.mark.parametrize("patterns", LOADS)
def test_bound(patterns: list[list[int]]) -> None:
    words = windows_of_beats(STANDARD, [[6, 0, 0, 0], *patterns * 10])
    bench, (packet,) = compress_packets(STANDARD, [words])
    assert (
        cycles_taken(bench, packet) <= cost(STANDARD, words) + BENCH.limits(STANDARD, "compressor").constant
    )
    bench, (packet,) = decompress_packets(STANDARD, [(stream_of(words, STANDARD), len(words))])
    assert (
        cycles_taken(bench, packet) <= cost(STANDARD, words) + BENCH.limits(STANDARD, "decompressor").constant
    )


@pytest.mark.parametrize("density", [0, 0.5, 1])
@pytest.mark.parametrize("number", NUMBERS)
def test_bound_of_all(number: int, density: float) -> None:
    config = PIPELINED[number]
    words = random_words(random.Random(number), config, 6 * config.format.window, density)
    bench, (packet,) = compress_packets(config, [words])
    assert cycles_taken(bench, packet) <= cost(config, words) + BENCH.limits(config, "compressor").constant
    bench, (packet,) = decompress_packets(config, [(stream_of(words, config), len(words))])
    assert cycles_taken(bench, packet) <= cost(config, words) + BENCH.limits(config, "decompressor").constant


@pytest.mark.parametrize("number", NUMBERS)
def test_latency(number: int) -> None:
    config = PIPELINED[number]
    words = [(1 << config.format.word_bits) - 1] * 2 * config.format.window
    bench, (packet,) = compress_packets(config, [words])
    assert packet.cycles[0] - bench.accepted["input"][0] <= BENCH.limits(config, "compressor").latency
    bench, (packet,) = decompress_packets(config, [(stream_of(words, config), len(words))])
    assert packet.cycles[0] - bench.accepted["input"][0] <= BENCH.limits(config, "decompressor").latency


def test_back_to_back() -> None:
    """Packets of two windows each, one after the other."""
    words = windows_of_beats(STANDARD, [[8, 8, 8, 8], [3, 0, 4, 0]])
    number = 20
    bench, packets = compress_packets(STANDARD, [words] * number)
    allowed = number * (cost(STANDARD, words) + BENCH.limits(STANDARD, "compressor").back_to_back)
    assert cycles_taken(bench, packets[-1]) <= allowed + BENCH.limits(STANDARD, "compressor").constant
    bench, packets = decompress_packets(STANDARD, [(stream_of(words, STANDARD), len(words))] * number)
    allowed = number * (cost(STANDARD, words) + BENCH.limits(STANDARD, "decompressor").back_to_back)
    assert cycles_taken(bench, packets[-1]) <= allowed + BENCH.limits(STANDARD, "decompressor").constant


@pytest.mark.parametrize(("keep", "last"), MALFORMED)
def test_malformed_beat_is_reported(keep: int, last: int) -> None:
    good = [9, 0, 3]
    for dut, packet in ((Compressor(STANDARD), good), (Decompressor(STANDARD), stream_of(good, STANDARD))):
        bench = StreamBench(dut)
        bad = [{"data": [3] * 8, "keep": keep, "last": last}]
        if not last:
            bad += beats_of([1] * 8, 8)
        bench.source("input", bad + beats_of(packet, 8))
        if isinstance(dut, Decompressor):
            bench.source("length", [20, 3])
        received = bench.packets("output", 2)
        reports = bench.collect("report", 2)
        bench.run(300)
        assert [report.error for _, report in reports] == [Error.BEAT, Error.NONE]
        assert [report.words_out for _, report in reports] == [len(got.words) for got in received]
        assert received[1].words == (stream_of(good, STANDARD) if packet is good else good)


@pytest.mark.parametrize("beats", [26, 29, 31, 35])
def test_leftover_words_are_dropped(beats: int) -> None:
    """The end of a packet is known and fills the memories while its output still waits; then another packet comes."""
    source = random.Random(beats)
    zeros = [0] * 8 * STANDARD.format.window
    stream = stream_of(zeros, STANDARD)
    too_long = (stream + [7] * (8 * beats - len(stream)), len(zeros))
    dense = random_words(source, STANDARD, 100, 1)
    packets = [too_long, (stream_of(dense, STANDARD), len(dense))] * 3
    decompress_packets(STANDARD, packets, pauses=0)
    decompress_packets(STANDARD, packets, pauses=0.7, seed=beats)


@pytest.mark.parametrize("beats", range(28, 35))
def test_leftover_words_are_dropped_while_the_output_stalls(beats: int) -> None:
    """The same, with an output that takes nothing until the input is full."""
    zeros = [0] * 8 * STANDARD.format.window
    stream = stream_of(zeros, STANDARD)
    good = [9, 0, 3]
    bench = StreamBench(Decompressor(STANDARD))
    long = stream + [7] * (8 * beats - len(stream))
    bench.source("input", beats_of(long, 8) + beats_of(stream_of(good, STANDARD), 8))
    bench.source("length", [len(zeros), 3])
    waits = iter([True] * 150)
    received = bench.packets("output", 2, lambda: next(waits, False))
    reports = bench.collect("report", 2)
    bench.run(600)
    assert [packet.words for packet in received] == [zeros, good]
    assert [report.error for _, report in reports] == [Error.TRAILING, Error.NONE]
