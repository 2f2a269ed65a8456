"""Packets for the bench of a codec: words by a mask of literals, beats in, expected beats out; a whole tensor, too."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cdma.hdl.spec.codec import CodecConfig
from cdma.sim.codec.headers import packing_cycles
from cdma.sim.codec.model import (
    CODE,
    PADDING,
    TRUNCATED,
    PacketReport,
    analyse,
    compress_words,
    decode_packet,
    encode_packet,
    model_of,
)
from cdma.sim.codec.unpacking import unpacking_cycles
from cdma.sim.codec.words import Words, as_stream, packed_beats, stream_from_bytes, words_from_bytes, words_of
from cdma.verif.simulator.monitors.rules import Beat
from cdma.verif.simulator.simulate import run_test
from cdma.verif.stream.packet import Packet

from .codec_bench import Limits, bench_of
from .design import REPORT, CodecDesign


@dataclass(frozen=True)
class TensorRun:
    """One tensor through one block, compared with the model bit by bit."""

    block: str
    raw_bytes: int
    stream_bytes: int
    cycles: int
    in_beats: int
    out_beats: int

    @property
    def bytes_per_cycle(self) -> float:
        """Raw bytes per clock cycle, from the first beat in to the last beat out."""
        return self.raw_bytes / self.cycles


def run_tensor(
    design: CodecDesign,
    array: ArrayLike,
    *,
    verilog: str | None = None,
    trace: bool = False,
    short: bool = False,
) -> TensorRun:
    """Runs the tensor through the block as one packet; raises where any bit differs. ``trace`` uses the build with waves,
    ``short`` the one that is ready sooner."""
    form = design.config.format
    words = words_of(array, form)
    with tempfile.TemporaryDirectory(prefix="cdma-") as directory:
        path = Path(directory) / "words.npy"
        np.save(path, words)
        module = "cdma.verif.stream.codec.tests.single"
        outcome = run_test(
            design, module, "tensor", verilog=verilog, trace=trace, short=short, words=str(path)
        )
    found = analyse(words, form)
    return TensorRun(design.block, found.words * form.word_bits // 8, found.compressed_bytes, **outcome.notes)


#: Lanes up to which each word of a beat is spelt; beyond them words of a kind are counted.
_SPELT_LANES = 8


class Speller:
    """Spells the words of beats: ``M`` word of a mask, ``H`` of a header, ``L`` literal or stored byte, ``.`` frequent
    value, ``P`` padding, ``-`` invalid."""

    def __init__(self, design: CodecDesign, raw: bool) -> None:
        self._config = design.config
        self._raw = raw
        self._restart()

    def _restart(self) -> None:
        """Before a packet: nothing is known of a window, nor of a group."""
        self._header: list[int] = []
        self._stored = self._padding = 0
        #: With two levels: windows of the group that are there and to come, and the words of its mask so far.
        self._windows = 0
        self._mask: list[int] = []

    def beat(self, data: int, keep: int, last: bool) -> str:
        config = self._config
        form, whole = config.format, data.to_bytes(config.data_bits // 8, "little")[: keep.bit_length()]
        lanes = config.lanes if self._raw else config.units
        if self._raw:
            letters = self._raw_letters(words_from_bytes(whole, form))
        else:
            letters = self._stream_letters(stream_from_bytes(whole, form))
        if last:
            self._restart()
        if lanes <= _SPELT_LANES:
            return letters.ljust(lanes, "-")
        counts = [(letter, letters.count(letter)) for letter in "MHLP."]
        return " ".join(f"{count}{letter}" for letter, count in counts if count) or "-"

    def _raw_letters(self, words: Words) -> str:
        form = self._config.format
        return "".join("L" if stored else "." for stored in model_of(form).stored(words, form))

    def _stream_letters(self, words: Words) -> str:
        return "".join(map(self._stream_letter, words.tolist()))

    def _stream_letter(self, word: int) -> str:
        form = self._config.format
        if self._stored or not form.header_words:
            self._stored -= 1
            return "L"
        if self._padding:
            self._padding -= 1
            return "P"
        if form.mask_words and not self._windows:
            self._mask.append(word)
            if len(self._mask) == form.mask_words:
                self._windows = sum(part.bit_count() for part in self._mask)
                self._mask = []
            return "M"
        self._header.append(word)
        if len(self._header) == form.header_words:
            self._stored = model_of(form).stored_after(as_stream(self._header, form), form)
            self._padding = -(form.header_words + self._stored) % form.align_words
            self._header = []
            self._windows -= form.mask_words > 0
        return "H"


Mask = NDArray[np.bool_]
Random = np.random.Generator


def scattered(rng: Random, count: int, density: float) -> Mask:
    """Literals anywhere, ``density`` of all words."""
    return rng.random(count) < density


def clustered(rng: Random, count: int, density: float) -> Mask:
    """Literals in runs, as activations have them: long runs of each kind, ``density`` of all words."""
    mean = 2 ** rng.uniform(1, 6)
    runs: list[Mask] = []
    have = 0
    while have < count:
        for value, share in ((True, density), (False, 1 - density)):
            length = int(rng.exponential(mean * 2 * share) + rng.random())
            runs.append(np.full(length, value))
            have += length
    return np.concatenate(runs)[:count] if runs else np.zeros(count, bool)


def alternating(rng: Random, count: int, config: CodecConfig) -> Mask:
    """Windows that are all literals and windows that have none, in turn, in runs of one to three."""
    window = config.format.window
    run = int(rng.integers(1, 4))
    dense = (np.arange(count) // (window * run) + rng.integers(0, 2)) % 2 == 0
    return dense ^ (rng.random(count) < rng.choice([0.0, 0.03]))


def _beat(rng: Random, lanes: int, literals: int) -> Mask:
    mask = np.zeros(lanes, bool)
    mask[rng.permutation(lanes)[:literals]] = True
    return mask


def periodic(rng: Random, config: CodecConfig, repeats: int) -> Mask:
    """A few windows with a chosen number of literals in every beat, over and over.

    A datapath that loses a cycle on such a period loses it every time: the loss adds up until the bound is passed.
    Random search over periods finds a queue that is one row too short.
    """
    lanes, beats = config.lanes, config.beats
    shapes = []
    for _ in range(int(rng.integers(1, 5))):
        match rng.integers(0, 6):
            case 0:
                counts = np.full(beats, lanes)
            case 1:
                counts = np.zeros(beats, int)
            case 2:
                counts = np.where(np.arange(beats) < rng.integers(0, beats + 1), lanes, 0)
            case 3:
                counts = np.where(np.arange(beats) >= rng.integers(0, beats + 1), lanes, 0)
            case 4:
                counts = np.zeros(beats, int)
                counts[rng.integers(0, beats)] = rng.integers(0, lanes + 1)
            case _:
                counts = rng.choice([0, 1, lanes - 1, lanes, lanes // 2], beats)
        shapes.append(counts)
    period = np.concatenate([_beat(rng, lanes, int(count)) for counts in shapes for count in counts])
    return np.tile(period, repeats)


def adversarial(config: CodecConfig, repeats: int) -> Iterator[Mask]:
    """Periods that bring the fill of the compressor's last beat back to the same level before a dense window.

    A lead-in window sets the level; then come, over and over, a dense window, one in which only one beat is dense, and
    one with as many literals as make the period whole beats.
    """
    form, lanes, beats = config.format, config.lanes, config.beats
    window, header = form.window, form.header_words
    dense = np.ones(window, bool)
    filler_words = -(header + window + header + lanes + header) % lanes
    for level in sorted({0, 1, lanes // 2, lanes - 1}):
        lead = np.arange(window) < (level - header) % lanes
        for beat in sorted({0, beats - 1}):
            one = np.zeros(window, bool)
            one[beat * lanes : (beat + 1) * lanes] = True
            for filler in (np.arange(window) < filler_words, np.arange(window) >= window - filler_words):
                yield np.concatenate([lead, np.tile(np.concatenate([dense, one, filler]), repeats)])


def short_of_dense(config: CodecConfig, repeats: int) -> Iterator[Mask]:
    """Periods of one or two windows that lack a few literals in their inner beats, and a dense one.

    A decompressor that stores a beat only where a whole row is free accepts none while few words of the oldest beat are
    left, and so may lack a beat when the dense window begins.
    """
    form, lanes, beats = config.format, config.lanes, config.beats
    inner = range(1, beats - 1) if beats > 2 else range(beats)
    for missing in range(form.header_words, form.header_words + 4):
        if missing > len(inner) * lanes:
            break
        mask = np.ones(form.window, bool)
        for number in range(missing):
            mask[inner[number % len(inner)] * lanes + number // len(inner)] = False
        for windows in (1, 2):
            yield np.tile(np.concatenate([*[mask] * windows, np.ones(form.window, bool)]), repeats)
        yield np.tile(mask, 2 * repeats)


def endings(config: CodecConfig) -> Iterator[Mask]:
    """Packets that end with each fill of the last beat before a dense last window of each short length; of many lanes,
    only the telling ones."""
    form, lanes = config.format, config.lanes
    fills = range(lanes) if lanes <= 8 else (0, 1, 2, lanes // 2, lanes - 2, lanes - 1)
    near = {beats * lanes + more for beats in (0, 1, 2) for more in (-1, 0, 1)}
    lengths = range(1, 2 * lanes + 2) if lanes <= 8 else sorted(near)
    for fill in fills:
        lead = np.arange(form.window) < (fill - form.header_words) % lanes
        for length in lengths:
            if 0 < length <= form.window:
                yield np.concatenate([lead, np.ones(length, bool)])


def costly(config: CodecConfig) -> Mask:
    """Two windows that a compressor with less than two queued beats takes the most cycles for, in relation to their words.

    The first begins with a dense beat when the incomplete beat is full, which fills two beats at once. It leaves that
    beat one word short, and the second, dense one fills it again.
    """
    form, lanes = config.format, config.lanes
    window = np.arange(form.window)
    short = (-1 - form.header_words) % lanes
    return np.concatenate([(window < lanes) | (window >= form.window - short), window >= 0])


def mixed(rng: Random, count: int, config: CodecConfig) -> Mask:
    """Any of the shapes, with any density."""
    density = float(rng.choice([0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0, rng.random()]))
    match rng.integers(0, 4):
        case 0:
            return clustered(rng, count, density)
        case 1:
            return alternating(rng, count, config)
        case 2:
            period = periodic(rng, config, 1)
            return np.resize(np.roll(period, rng.integers(0, len(period))), count)
        case _:
            return scattered(rng, count, density)


def boundary_lengths(config: CodecConfig) -> list[int]:
    """Every length next to a boundary: one word, lanes, whole windows, one less and one more."""
    lanes, window = config.lanes, config.format.window
    marks = {lanes, 2 * lanes, window - lanes, window, window + lanes, 2 * window, 3 * window}
    near = {mark + offset for mark in marks for offset in (-1, 0, 1)}
    return sorted(length for length in near | {1, 2, 3} if length > 0)


def some_length(rng: Random, config: CodecConfig) -> int:
    """A length as tests want them: often short, often next to a boundary, now and then several windows."""
    window = config.format.window
    match rng.integers(0, 8):
        case 0 | 1 | 2:
            return int(rng.integers(1, config.lanes + 2))
        case 3 | 4:
            return int(rng.choice(boundary_lengths(config)))
        case 5 | 6:
            return int(rng.integers(1, 2 * window))
        case _:
            form = config.format
            return int(rng.integers(1, 5 * window if form.levels == 1 else 3 * form.group_words))


#: The error code of a report for a malformed beat.
MALFORMED = 4


@dataclass(frozen=True)
class CodecPacket(Packet):
    """One packet of stimulus and the golden model's result; with malformed beats only the rules and the report's error are
    defined."""

    report: PacketReport
    #: Clock cycles that the contract allows from first beat in to last beat out, without the constant.
    cost: int

    def fields(self, words_out: int) -> dict[str, int]:
        report = self.report
        if self.expected is None:
            return {"words out": words_out, "error": report.error}
        return dict(
            zip(REPORT, (report.words_in, report.words_out, report.literals, report.error), strict=True)
        )


def beats_of(words: Words, bits: int, config: CodecConfig) -> list[Beat]:
    """Words, or stream words, of so many bits, packed into beats."""
    return [Beat(*beat) for beat in packed_beats(words, bits, config.data_bits // bits)]


def window_loads(words: Words, config: CodecConfig) -> tuple[np.ndarray, np.ndarray]:
    """Raw words, in stream words, and stream words of every window of a packet."""
    form = config.format
    windows = -(-len(words) // form.window)
    stored = np.zeros(windows * form.window, np.intp)
    stored[: len(words)] = model_of(form).stream_words_of_each(words, form)
    raw = np.full(windows, form.window)
    raw[-1] = len(words) - (windows - 1) * form.window
    stream = form.header_words + stored.reshape(windows, form.window).sum(axis=1)
    return raw * form.parts, stream + -stream % form.align_words


def _cost(words: Words, config: CodecConfig, header_parts: int, limits: Limits | None = None) -> int:
    """The cycles of the contract, where a header comes in ``header_parts``; without ``limits``, the sum over windows."""
    limits = limits or Limits(constant=0, latency=0)
    raw, stream = window_loads(words, config)
    full = stream >= raw + config.format.header_words
    raw[-1] = max(raw[-1], limits.least_window * config.format.parts)
    load = np.maximum(raw, stream)
    goes_on = full & np.concatenate([[True], full[:-1]])
    if limits.whole_beats:
        load += np.where((stream > raw) & ~goes_on, -stream % config.units, 0)
    more = max(0, header_parts - 1) * len(raw) + limits.each_window * int((~goes_on).sum())
    # A mask costs its words and a cycle. Windows that are absent count as if they had a header.
    form = config.format
    masks = -(-len(words) // form.group_words) if form.mask_words else 0
    return -(-(int(load.sum()) + masks * form.mask_words) // config.units) + more + masks


def _packing_cost(words: Words, config: CodecConfig) -> int:
    return packing_cycles(model_of(config.format).stream_words_of_each(words, config.format), config)


def compress_packet(words: Words, config: CodecConfig) -> CodecPacket:
    result = encode_packet(words, config.format)
    return CodecPacket(
        beats_of(words, config.format.word_bits, config),
        None,
        beats_of(result.words, config.format.stream_bits, config),
        len(words),
        result.report,
        _cost(words, config, config.header_beats) if config.work_conserving else _packing_cost(words, config),
    )


def decompress_packet(words: Words, config: CodecConfig) -> CodecPacket:
    if config.work_conserving:
        cost = _cost(words, config, config.header_reads, bench_of(config).limits(config, "decompressor"))
    else:
        cost = unpacking_cycles(model_of(config.format).stream_words_of_each(words, config.format), config)
    return corrupt_packet(compress_words(words, config.format), len(words), config, cost)


def corrupt_packet(stream: Words, length: int, config: CodecConfig, cost: int = 0) -> CodecPacket:
    """Any stream at all, with any length asked for."""
    result = decode_packet(stream, length, config.format, config.lanes)
    delivered = beats_of(result.words, config.format.word_bits, config)
    if result.report.error in (TRUNCATED, CODE, PADDING) and len(result.words):
        # The packet was cut short after whole beats: an empty beat closes it.
        delivered = [*(Beat(beat.data, beat.keep) for beat in delivered), Beat(0, 0, True)]
    report, given = result.report, beats_of(stream, config.format.stream_bits, config)
    return CodecPacket(given, length, delivered, report.words_in, report, cost)


def malformed_packet(beats: Sequence[Beat], length: int | None) -> CodecPacket:
    """Beats of which at least one breaks the rules of packing."""
    return CodecPacket(beats, length, None, 0, PacketReport(0, 0, 0, MALFORMED), 0)
