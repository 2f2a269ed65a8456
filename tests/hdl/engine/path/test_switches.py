"""Packets through the error-bounded stage and around it, in both directions, against the specification. Packets of every
mode through the switch: what comes out, and how close they follow each other.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.engine.path.switches import CodecSwitch, LossySwitch
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import Quantisation
from cdma.sim.codec.headers import from_memory, to_memory
from cdma.sim.codec.model import compress_words
from cdma.sim.codec.number_types import words_of
from cdma.sim.codec.quantise import dequantise, quantise
from cdma.sim.codec.words import stream_dtype, word_dtype
from cdma.verif.stream.stage.packet import any_words
from tests.support.stimuli import Pause, by_phases, never
from tests.support.stream_bench import Packet, StreamBench, beats_of

#: Numbers and integers, bits of a stream word, and how many a beat of raw data and one of the codec have.
SHAPES = [
    (Quantisation(), 8, 8, 2),
    (Quantisation("fp16", 8, keep_nonzero=True), 8, 16, 32),
    (Quantisation("fp32", 16), 8, 16, 4),
    (Quantisation("fp32", 16), 16, 8, 8),
    (Quantisation("fp32", 4), 4, 64, 8),
    (Quantisation("bf16", 4), 4, 16, 8),
]


def _cut(value: bytes, bits: int) -> list[int]:
    return from_memory(value, bits).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("quantises", [True, False], ids=["numbers", "integers"])
@pytest.mark.parametrize(("form", "words", "lanes", "codec_lanes"), SHAPES, ids=str)
def test_packets_of_any_step(
    form: Quantisation, words: int, lanes: int, codec_lanes: int, quantises: bool
) -> None:
    rng = random.Random(4)
    number_bits, bias = form.number_type.bits, form.number_type.bias
    sent, steps, expected, reports = [], [], [], []
    for count in (1, 2, lanes, 4 * lanes + 1, *(rng.randint(1, 60) for _ in range(20))):
        step = rng.choice((0, 1, form.greatest_step, rng.randint(1, form.greatest_step)))
        numbers = np.array(any_words(rng, form, max(step, 1) - bias, count), f"<u{number_bits // 8}")
        made = quantise(numbers, max(step, 1) - bias, form)
        # Integers of an odd number of 4 bits end within a byte.
        integers = _cut(to_memory(words_of(made.integers, form.bits), form.bits), words)[
            : count * form.bits // words
        ]
        raw = _cut(numbers.tobytes(), words)
        source, result = (raw, integers) if quantises else (integers, raw)
        if not quantises:
            result = _cut(dequantise(made.integers, max(step, 1) - bias, form).tobytes(), words)
        steps.append(step)
        sent.append(source)
        expected.append(result if step else source)
        reports += [(made.reported, made.first)] if step else []
    bench = StreamBench(LossySwitch(form, words, lanes, codec_lanes, quantises=quantises))
    width = lanes if quantises else codec_lanes
    bench.source("step", steps, by_phases("step"))
    bench.source("input", [beat for packet in sent for beat in beats_of(packet, width)], by_phases("input"))
    received = bench.packets("output", len(sent), by_phases("output"))
    said = bench.collect("report", len(reports), by_phases("report")) if quantises else []
    bench.run(20_000)
    assert [packet.words for packet in received] == expected
    if quantises:
        assert [(each.count, each.first) for _, each in said] == reports


@pytest.mark.parametrize(("step", "codec_lanes"), [(0, 32), (120, 8), (120, 32)])
def test_takes_a_beat_per_cycle(step: int, codec_lanes: int) -> None:
    """And between two packets a cycle more around the stage, up to five through it."""
    form, lanes = Quantisation(), 32
    beats = beats_of([0x3F] * (12 * lanes), lanes)
    bench = StreamBench(LossySwitch(form, 8, lanes, codec_lanes, quantises=True))
    bench.source("step", [step] * 3)
    bench.source("input", beats * 3)
    bench.packets("output", 3)
    if step:
        bench.collect("report", 3)
    bench.run(2000)
    gaps = [later - earlier for earlier, later in pairwise(bench.accepted["input"])]
    assert [gap for gap in gaps if gap != 1] == [(6 if codec_lanes > 8 else 5) if step else 2] * 2, gaps


_VALUES = (0, 7, 9)
_LANES = 4
_FVC = Format(word_bits=16, window=16, code_bits=2, values=_VALUES)
_CONFIG = CodecConfig(_FVC, lanes=_LANES, runtime_values=True)
#: Stream words are bytes.
_FIELDS = CodecConfig(
    Format(16, 16, 2, _VALUES, field_bits=8, rotate=1, align=4), lanes=_LANES, runtime_values=True
)

#: Two stream words are in a byte of what memories move.
_HALVES = CodecConfig(Format(4, 16, 2, _VALUES, align=2), lanes=_LANES, runtime_values=True)

#: As they are in an engine whose lengths are any number of bytes.
_WORDS = CodecConfig(Format(32, 32, 1), lanes=_LANES)
_EXACT = [_WORDS, _CONFIG, _FIELDS]

#: Mode and words of a packet.
_Case = tuple[str, list[int]]


def _parts(words: list[int], form: Format) -> list[int]:
    """The stream words of raw words."""
    raw = np.array(words, word_dtype(form))
    return raw.view(stream_dtype(form)).tolist()


def _stream(case: _Case, form: Format) -> list[int]:
    """What memories move of a packet that has left the switch of a compressor."""
    mode, words = case
    if mode == "raw":
        stream = np.array(_parts(words, form), stream_dtype(form))
    else:
        stream = compress_words(
            np.array(words, word_dtype(form)), form.with_table((0,)) if mode == "zvc" else form
        )
    return from_memory(to_memory(stream, form.stream_bits), form.moved_bits).tolist()


def _soiled(case: _Case, stream: list[int], form: Format) -> list[int]:
    """The same with something in the half of the last byte in which there is no word."""
    filled = case[0] == "raw" and form.stream_bits == 4 and len(case[1]) % 2
    return [*stream[:-1], stream[-1] | 0xF0] if filled else stream


def _bytes(parts: list[list[int]], bits: int) -> list[list[int]]:
    """The bytes of such parts."""
    return [list(np.array(packet, f"<u{bits // 8}").tobytes()) for packet in parts]


def _run(
    cases: list[_Case],
    compressing: bool,
    pauses: tuple[Pause, Pause, Pause] = (never, never, never),
    config: CodecConfig = _CONFIG,
    tails: list[int] | None = None,
    watch: Callable[[StreamBench, CodecSwitch], None] | None = None,
) -> tuple[StreamBench, list[Packet]]:
    """Sends the packets; checks what comes out. With ``tails`` they are of bytes, so many of the last word; ``watch`` may
    add a process that looks at the switch."""
    form = config.format
    codec = (Compressor if compressing else Decompressor)(config)
    dut = CodecSwitch(codec, config, packets=4, tail_bits=(form.raw_bytes - 1).bit_length() if tails else 0)
    bench = StreamBench(dut)
    raw = [_parts(words, form) for _, words in cases]
    coded = [_stream(case, form) for case in cases]
    if tails:
        raw, coded = _bytes(raw, form.stream_bits), _bytes(coded, form.moved_bits)
        for (mode, _), tail, raw_packet, packet in zip(cases, tails, raw, coded, strict=True):
            left = -tail % form.raw_bytes
            for bytes_ in (raw_packet, packet) if mode == "raw" else (raw_packet,):
                del bytes_[len(bytes_) - left :]
    sent, wanted = (raw, coded) if compressing else (coded, raw)
    if not compressing:
        sent = [_soiled(case, stream, form) for case, stream in zip(cases, coded, strict=True)]
    source, sink, routes = pauses
    lanes = len(dut.input.payload.keep)
    beats = [beat for words in sent for beat in beats_of(words, lanes)]
    for beat in beats:
        # What is not kept may be anything, but where zeros fill a word.
        kept = beat["keep"].bit_count()
        whole = -(-kept // form.raw_bytes) * form.raw_bytes if tails and compressing else kept
        beat["data"][whole:] = [0xF] * (lanes - whole)
    bench.source("input", beats, source)
    bench.source(
        "routes",
        [
            {"raw": mode == "raw", "zeros": mode == "zvc", "words": len(words)}
            | ({"tail": tails[number]} if tails else {})
            for number, (mode, words) in enumerate(cases)
        ],
        routes,
    )
    received = bench.packets("output", len(cases), sink)
    coded_cases = sum(mode != "raw" for mode, _ in cases)
    reports = bench.collect("report", coded_cases) if coded_cases else []

    async def table(ctx: Any) -> None:
        ctx.set(dut.values, list(_VALUES))

    if config.runtime_values:
        bench.simulator.add_testbench(table)
    if watch is not None:
        watch(bench, dut)
    bench.run(2000 + 40 * sum(map(len, raw)))
    assert [packet.words for packet in received] == wanted
    assert all(report.error.value == 0 for _, report in reports)
    return bench, received


@pytest.mark.slow
@pytest.mark.parametrize("compressing", [True, False], ids=["compressor", "decompressor"])
@pytest.mark.parametrize("config", [_CONFIG, _FIELDS, _HALVES], ids=["words", "fields", "half-bytes"])
def test_packets_of_every_mode(compressing: bool, config: CodecConfig) -> None:
    """Of any length, from one word on, in runs of the same mode and one by one."""
    rng = random.Random(7)
    cases: list[_Case] = []
    while len(cases) < 90:
        mode = rng.choice(("raw", "zvc", "fvc"))
        for _ in range(rng.choice((1, 1, 2, 4))):
            count = rng.choice((1, 2, _LANES, _LANES + 1, 16, 17, rng.randrange(1, 100)))
            most = 1 << config.format.word_bits
            cases.append((mode, [rng.choice((0, 0, 7, 9, rng.randrange(most))) for _ in range(count)]))
    _run(cases, compressing, (by_phases(1), by_phases(2), by_phases(3)), config)


@pytest.mark.slow
@pytest.mark.parametrize("compressing", [True, False], ids=["compressor", "decompressor"])
@pytest.mark.parametrize("config", _EXACT, ids=["words", "codes", "fields"])
def test_packets_of_any_number_of_bytes(compressing: bool, config: CodecConfig) -> None:
    """The last word of a compressor's packet counts as one, and that of a decompressor's is cut."""
    rng, form = random.Random(8), config.format
    cases: list[_Case] = []
    tails = []
    while len(cases) < 60:
        mode = rng.choice(("raw", "zvc", "zvc", "fvc"))
        for _ in range(rng.choice((1, 1, 2, 4))):
            count = rng.choice((1, 2, _LANES, _LANES + 1, 16, 17, rng.randrange(1, 70)))
            words = [rng.choice((0, 7, 9, rng.randrange(1 << form.word_bits))) for _ in range(count)]
            tails.append(rng.randrange(form.raw_bytes))
            words[-1] &= (1 << 8 * (tails[-1] or form.raw_bytes)) - 1
            cases.append((mode, words))
    _run(cases, compressing, (by_phases(1), by_phases(2), by_phases(3)), config, tails)


@pytest.mark.slow
@pytest.mark.parametrize("compressing", [True, False], ids=["compressor", "decompressor"])
@pytest.mark.parametrize("mode", ["raw", "zvc", "fvc"])
def test_packets_of_one_mode_follow_each_other_without_a_gap(mode: str, compressing: bool) -> None:
    count, words = 8, 64
    bench, received = _run([(mode, list(range(1 << 8, (1 << 8) + words)))] * count, compressing)
    beats = len(bench.accepted["input"]) // count
    # A codec may take a cycle of its own between packets.
    each = max(beats, len(received[0].cycles)) + (mode != "raw")
    for times in (bench.accepted["input"][beats - 1 :: beats], [packet.cycles[-1] for packet in received]):
        assert times[-1] - times[0] <= (count - 1) * each


@pytest.mark.parametrize("compressing", [True, False], ids=["compressor", "decompressor"])
def test_stalls_are_what_the_streams_show(compressing: bool) -> None:
    """A wait is the sink's while a beat is offered and not taken, the codec's while one is not taken from the source, and
    the source's while a packet that has begun has no beat."""
    cases: list[_Case] = [("zvc", [number % 5 for number in range(64)])] * 8
    seen: dict[str, list[bool]] = {name: [] for name in ("starved", "refused", "blocked", "within")}
    shown: dict[str, list[bool]] = {name: [] for name in ("starved", "refused", "blocked")}

    def watch(bench: StreamBench, dut: CodecSwitch) -> None:
        async def look(ctx: Any) -> None:
            within = False
            source, sink = dut.input, dut.output
            pins = (source.valid, source.ready, source.payload.last, sink.valid, sink.ready)
            ends = ctx.tick().sample(*pins, dut.starved, dut.refused, dut.blocked)
            async for _, _, offered, taken, last, out, willing, *says in ends:
                blocked = bool(out and not willing)
                seen["blocked"].append(blocked)
                seen["refused"].append(bool(offered and not taken and not blocked))
                seen["starved"].append(bool(not offered and not blocked))
                seen["within"].append(bool(within and not offered and not blocked))
                for name, value in zip(shown, says, strict=True):
                    shown[name].append(bool(value))
                if offered and taken:
                    within = not last

        bench.simulator.add_testbench(look, background=True)

    _run(cases, compressing, (by_phases(1), by_phases(2), never), watch=watch)
    assert shown["blocked"] == seen["blocked"]
    assert shown["refused"] == seen["refused"]
    each = list(zip(seen["within"], shown["starved"], seen["starved"], strict=True))
    assert all(least <= says <= most for least, says, most in each)
    assert min(sum(seen[name]) for name in ("within", "refused", "blocked")) > 2
