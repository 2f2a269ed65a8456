"""Runs packets through the compressor and the decompressor in Amaranth's simulator and checks them against the model."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cdma.hdl.codec.compressor import Compressor
from cdma.hdl.codec.decompressor import Decompressor
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.model import compress_words, decode_packet, encode_packet
from tests.support.stream_bench import Packet, StreamBench, beats_of, never, sometimes

__all__ = [
    "CONFIGS",
    "LOADS",
    "PIPELINED",
    "compress_packets",
    "corrupt",
    "decompress_packets",
    "lengths",
    "random_words",
    "stream_of",
    "whole",
    "windows_of_beats",
    "work",
]


def config(word_bits: int, window: int, code_bits: int, values: tuple[int, ...], lanes: int) -> CodecConfig:
    return CodecConfig(Format(word_bits, window, code_bits, values), lanes)


#: Word and code sizes, headers of a part of a beat to several beats. Wide beats are slow in this simulator; the regression
#: under Verilator has them.
CONFIGS = [
    config(32, 32, 1, (0,), 8),
    config(8, 32, 4, (0, 1, 2), 4),
    config(32, 32, 1, (0,), 1),
    config(8, 32, 4, (0,), 1),
    config(8, 32, 2, (0, 1), 8),
    config(32, 64, 1, (0,), 4),
    config(4, 16, 1, (0,), 2),
    config(2, 4, 1, (0,), 4),
]
#: The same for pipelined codecs, whose windows have four beats or more; one has no more than that, and two words.
PIPELINED = [
    replace(plain, pipelined=True) for plain in [*CONFIGS, config(2, 4, 1, (0,), 1)] if plain.beats >= 4
]


def random_words(source: random.Random, config: CodecConfig, count: int, density: float) -> list[int]:
    """Words of which about ``density`` are not in the table's first entry; the rest of the table occurs, too."""
    fmt = config.format
    words = []
    for _ in range(count):
        if source.random() >= density:
            words.append(source.choice(fmt.values))
        else:
            words.append(source.getrandbits(fmt.word_bits))
    return words


def stream_of(words: Sequence[int], config: CodecConfig) -> list[int]:
    """The compressed words of a packet."""
    return [int(word) for word in compress_words(np.array(words, dtype=np.uint32), config.format)]


def _pauses(number: int, share: float, seed: object) -> list:
    return [sometimes((seed, i), share) if share else never for i in range(number)]


def compress_packets(
    config: CodecConfig,
    packets: Sequence[Sequence[int]],
    *,
    pauses: float = 0,
    report_pauses: float | None = None,
    seed: object = 0,
) -> tuple[StreamBench, list[Packet]]:
    """Compresses ``packets``; asserts that data and reports are the model's."""
    bench = StreamBench(Compressor(config))
    source, sink, reports = _pauses(3, pauses, seed)
    if report_pauses is not None:
        reports = sometimes((seed, "reports"), report_pauses)
    bench.source("input", [beat for packet in packets for beat in beats_of(packet, config.lanes)], source)
    received = bench.packets("output", len(packets), sink)
    reported = bench.collect("report", len(packets), reports)
    bench.run(_limit(sum(map(len, packets)), len(packets), config))
    for number, (packet, got, (_, report)) in enumerate(zip(packets, received, reported, strict=True)):
        want = encode_packet(np.array(packet, dtype=np.uint32), config.format)
        assert got.words == want.words.tolist(), f"packet {number} of {len(packet)} words"
        assert (report.words_in, report.words_out, report.literals, report.error.value) == (
            want.report.words_in,
            want.report.words_out,
            want.report.literals,
            want.report.error,
        ), f"report of packet {number}"
    return bench, received


def decompress_packets(
    config: CodecConfig,
    packets: Sequence[tuple[Sequence[int], int]],
    *,
    pauses: float = 0,
    report_pauses: float | None = None,
    seed: object = 0,
) -> tuple[StreamBench, list[Packet]]:
    """Decompresses ``packets`` (stream, number of words); asserts that data and reports are the model's."""
    bench = StreamBench(Decompressor(config))
    source, sink, reports, lengths = _pauses(4, pauses, seed)
    if report_pauses is not None:
        reports = sometimes((seed, "reports"), report_pauses)
    bench.source("input", [beat for stream, _ in packets for beat in beats_of(stream, config.lanes)], source)
    bench.source("length", [length for _, length in packets], lengths)
    received = bench.packets("output", len(packets), sink)
    reported = bench.collect("report", len(packets), reports)
    most = sum(len(stream) + min(length, len(stream) * config.format.window) for stream, length in packets)
    bench.run(_limit(most, len(packets), config))
    for number, ((stream, length), got, (_, report)) in enumerate(
        zip(packets, received, reported, strict=True)
    ):
        want = decode_packet(np.array(stream, dtype=np.uint32), length, config.format, config.lanes)
        what = f"packet {number}: {len(stream)} words for {length}"
        assert (report.words_in, report.words_out, report.literals, report.error.value) == (
            want.report.words_in,
            want.report.words_out,
            want.report.literals,
            int(want.report.error),
        ), what
        assert got.words == want.words.tolist(), what
    return bench, received


def _limit(words: int, packets: int, config: CodecConfig) -> int:
    return 40 * (words // config.lanes + packets * (config.format.window + 8)) + 1000


#: Windows that try the queues, each given as the number of literals of its beats.
LOADS = [
    [[8, 8, 8, 8]],
    [[0, 0, 0, 0]],
    [[8, 8, 8, 8], [0, 0, 0, 0]],
    # A whole dense window when only one place is left in a beat, then a dense beat; the third window makes the sum
    # a whole number of beats, so that this happens again and again.
    [[8, 8, 8, 8], [8, 0, 0, 0], [5, 0, 0, 0]],
    [[0, 0, 0, 6], [8, 8, 8, 8], [8, 0, 0, 0], [0, 0, 0, 6]],
    [[0, 0, 0, 6], [8, 8, 8, 8], [8, 0, 0, 8], [0, 0, 0, 6]],
]


def windows_of_beats(config: CodecConfig, patterns: list[list[int]]) -> list[int]:
    """Words of windows, each given as the number of literals of its beats."""
    words = []
    for pattern in patterns:
        for literals in pattern:
            words += [7] * literals + [0] * (config.lanes - literals)
    return words


def work(config: CodecConfig, words: list[int]) -> int:
    """The words that windows bring in or out, whichever is more, summed."""
    window = config.format.window
    return sum(
        max(len(words[start : start + window]), len(stream_of(words[start : start + window], config)))
        for start in range(0, len(words), window)
    )


def lengths(config: CodecConfig, source: random.Random, count: int) -> list[int]:
    lanes, window = config.lanes, config.format.window
    edges = [1, lanes - 1 or 1, lanes, lanes + 1, window - 1, window, window + 1, 2 * window]
    return [source.choice([*edges, source.randrange(1, 3 * window)]) for _ in range(count)]


def whole(config: CodecConfig, source: random.Random, count: int) -> list[tuple[list[int], int]]:
    packets = []
    for length in lengths(config, source, count):
        words = random_words(source, config, length, source.choice([0, 0.1, 0.5, 0.9, 1]))
        packets.append((stream_of(words, config), length))
    return packets


def corrupt(
    config: CodecConfig, source: random.Random, packet: tuple[list[int], int]
) -> tuple[list[int], int]:
    stream, length = packet
    word = config.format.word_bits
    kind = source.randrange(6)
    if kind == 0:
        return stream[: source.randrange(len(stream)) or 1], length
    if kind == 1:
        return stream + [
            source.getrandbits(word) for _ in range(source.randrange(1, 3 * config.lanes))
        ], length
    if kind == 2:
        place = source.randrange(len(stream))
        return [*stream[:place], stream[place] ^ 1 << source.randrange(word), *stream[place + 1 :]], length
    if kind == 3:
        return [source.getrandbits(word) for _ in range(source.randrange(1, 60))], length
    if kind == 4:
        return stream, max(0, length + source.choice([-length, -1, 1, config.lanes, -config.lanes]))
    return stream, length
