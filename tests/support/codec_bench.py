"""Runs packets through the compressor and the decompressor in Amaranth's simulator and checks them against the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from cdma.hdl.codec.compressor import Compressor
from cdma.hdl.codec.decompressor import Decompressor
from cdma.hdl.spec.codec import CodecConfig
from cdma.sim.codec.model import decode_packet, encode_packet
from cdma.sim.codec.results import PacketResult

from .codec_packets import Stream
from .pauses import Pause, by_phases, never
from .stream_bench import StreamBench, beats_of

__all__ = ["Passed", "compress_packets", "decompress_packets", "in_phases"]


class Passed(NamedTuple):
    """A packet that came out, and the cycles from its first beat in to its first and to its last beat out."""

    words: list[int]
    latency: int
    cycles: int


def in_phases(seed: object) -> dict[str, Pause]:
    """Every stream rests never, sometimes or mostly, in phases of its own."""
    return {name: by_phases((seed, name)) for name in ("input", "length", "output", "report")}


class _Alone:
    """Rests before each packet until the one before has been reported, and some cycles more."""

    def __init__(self, bench: StreamBench, ends: list[int], reported: list[Any]) -> None:
        self.bench, self.reported = bench, reported
        self.before = {beat: number + 1 for number, beat in enumerate(ends)}
        self.number = self.left = 0

    def __call__(self) -> bool:
        before = self.before.get(len(self.bench.accepted["input"]), 0)
        if before > self.number:
            self.number, self.left = before, 40
        if self.left and len(self.reported) >= before:
            self.left -= 1
        return self.left > 0


def compress_packets(
    config: CodecConfig, packets: Sequence[Sequence[int]], pauses: Mapping[str, Pause] | None = None
) -> list[Passed]:
    """Compresses ``packets``, one by one unless there are ``pauses``; checks that data and reports are the model's."""
    bench = StreamBench(Compressor(config))
    want = [encode_packet(np.array(packet, np.uint32), config.format) for packet in packets]
    return _pass(bench, packets, config.lanes, want, pauses)


def decompress_packets(
    config: CodecConfig, packets: Sequence[Stream], pauses: Mapping[str, Pause] | None = None
) -> list[Passed]:
    """Decompresses ``packets``, one by one unless there are ``pauses``; checks that data and reports are the model's."""
    bench = StreamBench(Decompressor(config))
    bench.source("length", [length for _, length in packets], (pauses or {}).get("length", never))
    want = [
        decode_packet(np.array(stream, np.uint32), length, config.format, config.lanes)
        for stream, length in packets
    ]
    return _pass(bench, [stream for stream, _ in packets], config.units, want, pauses)


def _pass(
    bench: StreamBench,
    packets: Sequence[Sequence[int]],
    lanes: int,
    want: Sequence[PacketResult],
    pauses: Mapping[str, Pause] | None,
) -> list[Passed]:
    beats = [beats_of(packet, lanes) for packet in packets]
    ends = list(accumulate(map(len, beats)))
    given = pauses or {}
    received = bench.packets("output", len(packets), given.get("output", never))
    reported = bench.collect("report", len(packets), given.get("report", never))
    pause = _Alone(bench, ends, reported) if pauses is None else given.get("input", never)
    bench.source("input", [beat for each in beats for beat in each], pause)
    bench.run(1000 + 40 * ends[-1] + 40 * sum(len(each.words) // lanes + 50 for each in want))
    passed = []
    for number, (got, (_, report), each) in enumerate(zip(received, reported, want, strict=True)):
        what = f"packet {number} of {len(packets[number])} words"
        said = (report.words_in, report.words_out, report.literals, report.error.value)
        expected = each.report
        assert said == (expected.words_in, expected.words_out, expected.literals, int(expected.error)), what
        assert got.words == each.words.tolist(), what
        first = bench.accepted["input"][ends[number] - len(beats[number])]
        passed.append(Passed(got.words, got.cycles[0] - first, got.cycles[-1] - first + 1))
    return passed
