"""Runs packets through the compressor and the decompressor in Amaranth's simulator and checks them against the model."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from stream_bench import Packet, StreamBench, beats_of, never, sometimes

from cdma.hdl.compressor import Compressor
from cdma.hdl.decompressor import Decompressor
from cdma.hdl.params import CodecConfig, Format
from cdma.sim.codec import compress_words
from cdma.sim.packets import decode_packet, encode_packet

__all__ = ["CONFIGS", "PIPELINED", "compress_packets", "decompress_packets", "random_words", "stream_of"]


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
