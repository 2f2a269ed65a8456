"""Runs packets through the compressor and the decompressor in Amaranth's simulator and checks them against the model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cdma.hdl.codec.compressor import Compressor
from cdma.hdl.codec.decompressor import Decompressor
from cdma.hdl.spec.codec import CodecConfig
from cdma.sim.codec.model import decode_packet, encode_packet

from .pauses import never, sometimes
from .stream_bench import Packet, StreamBench, beats_of

__all__ = ["compress_packets", "cycles_taken", "decompress_packets"]


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
    """Compresses ``packets``; checks that data and reports are the model's."""
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
    output_pauses: float | None = None,
    report_pauses: float | None = None,
    seed: object = 0,
) -> tuple[StreamBench, list[Packet]]:
    """Decompresses ``packets`` (stream, number of words); checks that data and reports are the model's."""
    bench = StreamBench(Decompressor(config))
    source, sink, reports, lengths = _pauses(4, pauses, seed)
    if output_pauses is not None:
        sink = sometimes((seed, "output"), output_pauses)
    if report_pauses is not None:
        reports = sometimes((seed, "reports"), report_pauses)
    bench.source("input", [beat for stream, _ in packets for beat in beats_of(stream, config.units)], source)
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


def cycles_taken(bench: StreamBench, packet: Packet) -> int:
    """Counts the cycles from the first beat in to the last beat out."""
    return packet.cycles[-1] - bench.accepted["input"][0] + 1
