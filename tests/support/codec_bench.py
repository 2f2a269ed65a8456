"""Runs packets through the compressor and the decompressor in Amaranth's simulator and checks them against the model.
What codecs are tried on: configurations, packets of words, whole streams and corrupt ones.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
import pytest

from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.model import PacketResult, compress_words, decode_packet, encode_packet

from .stimuli import Pause, by_phases, never
from .stream_bench import StreamBench, beats_of


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

_PADDED = Format(16, 32, 3, (127, 126), field_bits=8, rotate=1, zero=True, align=4)

#: A covering array of both kinds of codecs: every kind of queue and of format with each kind of header, which is a part of
#: a beat, a beat or more; ``test_compressor.py`` has the list. The regression under Verilator has the other pairs, and
#: an engine with pipelined codecs of padded windows of a field, which take long to build here.
CODECS = {
    "the standard": CONFIGS[0],
    "header of four beats": CONFIGS[1],
    "one lane, header of sixteen beats": CONFIGS[3],
    "one queued beat, header of a beat": replace(CONFIGS[4], queue=1),
    "one queued beat, window of a beat": replace(CONFIGS[7], queue=1),
    "one queued beat, one lane, header of sixteen beats": replace(CONFIGS[3], queue=1),
    "no queue, one lane": replace(CONFIGS[2], queue=0),
    "no queue, half-bytes, header of two beats": replace(CONFIGS[6], queue=0),
    "no queue, header of half a beat": replace(CONFIGS[5], queue=0),
    "bf16": CodecConfig(Format.preset("bf16"), 4),
    "field without zero": CodecConfig(Format(16, 32, 2, (0x7F,), field_bits=8, rotate=1), 4),
    "padded windows": CodecConfig(Format.preset("aie-ml"), 8),
    "no queue, padded windows of a field": CodecConfig(_PADDED, 2, queue=0),
    "pipelined": replace(CONFIGS[0], pipelined=True),
    "pipelined, header of four beats": replace(CONFIGS[1], pipelined=True),
    "pipelined, header of a beat": replace(CONFIGS[4], pipelined=True),
    "pipelined, one lane, window of four words": CodecConfig(Format(2, 4, 1), 1, pipelined=True),
    "pipelined, fp32": CodecConfig(Format.preset("fp32"), 2, pipelined=True),
    "pipelined, padded windows": CodecConfig(Format.preset("aie-ml"), 8, pipelined=True),
    "pipelined, codes of three bits, header of a beat and a half": CodecConfig(
        Format(16, 32, 3, (0, 7)), 4, pipelined=True
    ),
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


#: Lists of windows that fill and drain the queues; a window is the number of literals of each of its beats.
LOADS = [
    [[8, 8, 8, 8]],
    [[0, 0, 0, 0]],
    [[8, 8, 8, 8], [0, 0, 0, 0]],
    # A dense window, and a dense beat where the beats of the output are full but for one word. The third window makes
    # the sum a whole number of beats, so that this happens again and again.
    [[8, 8, 8, 8], [8, 0, 0, 0], [5, 0, 0, 0]],
    [[0, 0, 0, 6], [8, 8, 8, 8], [8, 0, 0, 0], [0, 0, 0, 6]],
    [[0, 0, 0, 6], [8, 8, 8, 8], [8, 0, 0, 8], [0, 0, 0, 6]],
]


def windows_of_beats(config: CodecConfig, patterns: list[list[int]]) -> list[int]:
    """Returns the words of windows; a window is the number of literals of each of its beats."""
    words = []
    for pattern in patterns:
        for literals in pattern:
            words += [7] * literals + [0] * (config.lanes - literals)
    return words


def work(config: CodecConfig, words: list[int]) -> int:
    """Adds up the words that each window brings in or sends out, whichever are more."""
    window = config.format.window
    return sum(
        max(len(words[start : start + window]), len(stream_of(words[start : start + window], config)))
        for start in range(0, len(words), window)
    )


#: The strobes and the last flag of beats that a packet must not have.
MALFORMED = [(0b10111111, 1), (0b00000000, 1), (0b00001111, 0), (0b11111110, 0)]


def raw_packets(config: CodecConfig, source: random.Random, count: int) -> list[list[int]]:
    """Returns packets of any density, with lengths around those of beats and windows and with others."""
    lanes, window = config.lanes, config.format.window
    edges = [1, lanes - 1 or 1, lanes, lanes + 1, window - 1, window, window + 1, 2 * window]
    lengths = [source.choice([*edges, source.randrange(1, 3 * window)]) for _ in range(count)]
    return [random_words(source, config, length, source.choice([0, 0.1, 0.5, 0.9, 1])) for length in lengths]


def streams(config: CodecConfig, source: random.Random, count: int) -> list[Stream]:
    """Returns such packets, compressed."""
    return [(stream_of(words, config), len(words)) for words in raw_packets(config, source, count)]


def corrupt(config: CodecConfig, source: random.Random, packet: Stream) -> Stream:
    """Returns the stream cut, extended, with one bit changed, replaced, with another length, or as it is."""
    stream, length = packet
    word = config.format.stream_bits
    kind = source.randrange(6)
    if kind == 0:
        return stream[: source.randrange(len(stream)) or 1], length
    if kind == 1:
        more = source.randrange(1, 3 * config.units)
        return stream + [source.getrandbits(word) for _ in range(more)], length
    if kind == 2:
        at = source.randrange(len(stream))
        return [*stream[:at], stream[at] ^ 1 << source.randrange(word), *stream[at + 1 :]], length
    if kind == 3:
        return [source.getrandbits(word) for _ in range(source.randrange(1, 60))], length
    if kind == 4:
        return stream, max(0, length + source.choice([-length, -1, 1, config.lanes, -config.lanes]))
    return stream, length


def fault_pairs(config: CodecConfig) -> list[Stream]:
    """Returns streams whose last window, whole or partial, has each two of these faults, and each alone: an invalid code
    of a word in the first or last lane of a beat (one of the first two, or the last), the literal of such a word missing,
    a code past the end of the packet, half of the header missing, and a word too many."""
    return [
        _with_faults(config, used, faults)
        for used in sorted({config.format.window, max(1, config.format.window - config.lanes - 1)})
        for faults in _some_faults(config, used)
    ]


def _some_faults(config: CodecConfig, used: int) -> list[dict[str, int]]:
    window, lanes = config.format.window, config.lanes
    beats = range(0, window, lanes)
    # Between the first two beats of a window and its last, all are alike.
    places = sorted({place for beat in (*beats[:2], beats[-1]) for place in (beat, beat + lanes - 1)})
    words = [place for place in places if place < used]
    each = [("literal", place) for place in words] + [("more", 1)]
    if config.table_size < config.format.literal_code:
        each += [("code", place) for place in words]
    if used < window:
        each += [("past", used), ("past", window - 1)]
    if config.format.header_words > 1:
        each += [("header", config.format.header_words // 2)]
    return [
        dict(pair)
        for pair in combinations_with_replacement(each, 2)
        if pair[0][0] != pair[1][0] or pair[0] == pair[1]
    ]


def _with_faults(config: CodecConfig, used: int, faults: dict[str, int]) -> Stream:
    """Returns a window of zeros, and one of ``used`` literals, with ``faults``."""
    fmt = config.format
    codes = [fmt.literal_code] * used + [0] * (fmt.window - used)
    if "code" in faults:
        codes[faults["code"]] = config.table_size
    if "past" in faults:
        codes[faults["past"]] = fmt.literal_code
    bits = sum(code << fmt.code_bits * word for word, code in enumerate(codes))
    words = [bits >> fmt.word_bits * word & (1 << fmt.word_bits) - 1 for word in range(fmt.header_words)]
    end = len(words) + codes[:used].count(fmt.literal_code)
    if "literal" in faults:
        end = len(words) + codes[: faults["literal"]].count(fmt.literal_code)
    if "header" in faults:
        end = min(end, faults["header"])
    words = [*words, *[1] * used][:end] + [1] * faults.get("more", 0)
    return [0] * fmt.header_words + words, fmt.window + used
