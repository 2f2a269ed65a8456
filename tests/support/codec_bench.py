"""Runs packets through the compressor and the decompressor in Amaranth's simulator and checks them against the model.
What codecs are tried on: configurations, packets of words, whole streams and corrupt ones.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pytest

from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.model import PacketResult, compress_words, decode_packet, encode_packet

from .stimuli import Pause, never
from .stream_bench import StreamBench, beats_of


class Passed(NamedTuple):
    """A packet that came out, and the cycles from its first beat in to its first and to its last beat out."""

    words: list[int]
    latency: int
    cycles: int


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


def compress_packets(config: CodecConfig, packets: Sequence[Sequence[int]]) -> list[Passed]:
    """Compresses ``packets`` one by one; checks that data and reports are the model's."""
    bench = StreamBench(Compressor(config))
    want = [encode_packet(np.array(packet, np.uint32), config.format) for packet in packets]
    return _pass(bench, packets, config.lanes, want, None)


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


#: The words of a compressed packet, and how many words it stands for.
Stream = tuple[list[int], int]


def _config(word_bits: int, window: int, code_bits: int, values: tuple[int, ...], lanes: int) -> CodecConfig:
    return CodecConfig(Format(word_bits, window, code_bits, values), lanes)


#: Different sizes of words and codes, and headers from a part of a beat to several beats. Wide beats are slow in this
#: simulator; the regression under Verilator has them.
CONFIGS = [
    _config(32, 32, 1, (0,), 8),
    _config(8, 32, 4, (0, 1, 2), 4),
    _config(32, 32, 1, (0,), 1),
    _config(8, 32, 4, (0,), 1),
    _config(8, 32, 2, (0, 1), 8),
    _config(32, 64, 1, (0,), 4),
    _config(4, 16, 1, (0,), 2),
    _config(2, 4, 1, (0,), 4),
]


CODECS = {
    "the standard": CONFIGS[0],
    "header of four beats": CONFIGS[1],
    "one lane, header of sixteen beats": CONFIGS[3],
    "one queued beat, window of a beat": replace(CONFIGS[7], queue=1),
    "no queue, one lane": replace(CONFIGS[2], queue=0),
    "pipelined": replace(CONFIGS[0], pipelined=True),
    "pipelined, header of a beat": replace(CONFIGS[4], pipelined=True),
}

#: The codecs that the contract's documents speak of.
STANDARDS = [
    pytest.param(CODECS[name], id=kind)
    for name, kind in (("the standard", "plain"), ("pipelined", "pipelined"))
]


def random_words(source: random.Random, config: CodecConfig, count: int, density: float) -> list[int]:
    """Returns ``count`` words: a share ``density`` of any value, and of the others each is zero or has a code."""
    form = config.format
    shift = form.word_bits - form.entry_bits
    right = form.rotate % form.word_bits

    def word() -> int:
        turned = source.getrandbits(form.word_bits)
        if source.random() >= density:
            entry = source.randrange(len(form.values) + form.zero)
            if entry == len(form.values):
                return 0
            turned = turned & ((1 << shift) - 1) | form.values[entry] << shift
        return (turned >> right | turned << (form.word_bits - right)) & ((1 << form.word_bits) - 1)

    return [word() for _ in range(count)]


def stream_of(words: Sequence[int], config: CodecConfig) -> list[int]:
    """Returns the compressed words of a packet."""
    return [int(word) for word in compress_words(np.array(words, dtype=np.uint32), config.format)]


#: The strobes and the last flag of beats that a packet must not have.
MALFORMED = [(0b10111111, 1), (0b00000000, 1), (0b00001111, 0), (0b11111110, 0)]
