"""What the regression must know of a codec: words to send, faults that it detects, and the cycles that it may take."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.codec import CodecConfig, codec_of
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.options import has_slices
from cdma.sim.codec.model import CODE, TRAILING, TRUNCATED
from cdma.sim.codec.words import Words, rotated, word_dtype


@dataclass(frozen=True)
class Limits:
    """The performance contract of one block, in cycles; ``docs/verification.md`` explains it.

    ``constant``: Allowed beyond the sum over a packet's windows.
    ``latency``: Allowed from the first beat in to the first beat out of a dense window.
    ``back_to_back``: Allowed for a packet beyond its own sum when it follows another without a gap.
    ``least_window``: The words that a window counts as at least.
    ``whole_beats``: A window of more stream words than raw words counts whole beats, unless it and the window before
        are all literals.
    ``each_window``: Allowed for each window beyond the sum, with the same exception.
    ``exact``: A lone packet takes just the cycles allowed, and no fewer.
    """

    constant: int
    latency: int
    back_to_back: int = 1
    least_window: int = 1
    whole_beats: bool = False
    each_window: int = 0
    exact: bool = False


def bench_of(config: CodecConfig) -> CodecBench:
    bench: CodecBench = codec_of(config.format).load("bench")
    return bench


def limits_of(config: CodecConfig, block: str) -> Limits:
    """The contract of a block with its register slices, each of which keeps a beat for a cycle. A decompressor accepts no
    beat before its length, but a slice does, so the cycle of the length counts."""
    limits = bench_of(config).limits(config, block)
    slices = sum(has_slices(config.register_slices, direction) for direction in ("in", "out"))
    exact = block == "decompressor" and not config.work_conserving
    before_length = exact and has_slices(config.register_slices, "in")
    return replace(
        limits,
        constant=limits.constant + slices + before_length,
        latency=limits.latency + slices + before_length,
    )


class CodecBench:
    """The bench of a codec, which its description in :mod:`cdma.hdl.spec.codec` names; another codec has a subclass.

    ``errors``: The errors of reports that damaged streams must bring up, as :mod:`cdma.sim.codec.model` numbers them;
        beside those of padding, where a format has it.
    """

    errors = frozenset({TRUNCATED, TRAILING, CODE})

    def fill(self, rng: np.random.Generator, literal: NDArray[np.bool_], config: CodecConfig) -> Words:
        """Words that the stream stores just where ``literal`` says, as far as the codec leaves words out: words of the table
        where nothing is stored, and anything else, often one bit off the table, where it is."""
        form = config.format
        if form.field_bits:
            assert isinstance(form, Format)
            return _fill_fields(rng, literal, _some_zeros(rng, len(literal), form), form)
        dtype = word_dtype(form)
        table = np.array(form.values, dtype)
        top = (1 << form.word_bits) - 1
        words = rng.integers(0, top, len(literal), dtype, endpoint=True)
        near = rng.random(len(literal)) < 0.25
        flips = np.left_shift(1, rng.integers(0, form.word_bits, len(literal), np.uint64)).astype(dtype)
        words = np.where(near, rng.choice(table, len(literal)) ^ flips, words)
        clash = np.isin(words, table)
        while clash.any():
            words[clash] = rng.integers(0, top, int(clash.sum()), dtype, endpoint=True)
            clash = np.isin(words, table)
        return np.where(literal, words, rng.choice(table, len(literal))).astype(dtype)

    def fill_covered(
        self,
        rng: np.random.Generator,
        literal: NDArray[np.bool_],
        zeros: NDArray[np.bool_],
        config: CodecConfig,
    ) -> Words:
        """Words of a format with a field: ``literal`` and ``zeros`` say which are literals and which are zero."""
        assert isinstance(config.format, Format)
        return _fill_fields(rng, literal, zeros, config.format)

    def limits(self, config: CodecConfig, block: str) -> Limits:
        """The contract of the ``compressor`` or ``decompressor`` of ``config``, without register slices."""
        return _pipelined(config, block) if config.pipelined else _plain(config, block)


def _some_zeros(rng: np.random.Generator, count: int, form: Format) -> NDArray[np.bool_]:
    """Which words are zero if they are not literals; the others have a frequent field. All of a packet, none, every other
    one, or any."""
    zeros = np.full(count, form.zero)
    if form.values and form.zero:
        kinds = (zeros, ~zeros, np.arange(count) % 2 == 0, rng.random(count) < rng.random())
        zeros = kinds[rng.integers(0, len(kinds))]
    return zeros


def _fill_fields(
    rng: np.random.Generator, literal: NDArray[np.bool_], zeros: NDArray[np.bool_], form: Format
) -> Words:
    """Words whose field is in no entry where ``literal`` says; the others are zero or have a frequent field."""
    dtype, shift = word_dtype(form), form.word_bits - form.field_bits
    tops = np.array(form.values, np.uint64) << np.uint64(shift)
    mask = ((1 << form.field_bits) - 1) << shift
    count = len(literal)
    words = rng.integers(0, 1 << form.word_bits, count, np.uint64)
    if len(tops):
        near = rng.random(count) < 0.25
        flips = np.left_shift(np.uint64(1), rng.integers(shift, form.word_bits, count, np.uint64))
        words = np.where(near, words & np.uint64((1 << shift) - 1) | rng.choice(tops, count) ^ flips, words)

    def clashes() -> NDArray[np.bool_]:
        return np.isin(words & np.uint64(mask), tops) | (form.zero & (words == 0))

    clash = clashes()
    while clash.any():
        words[clash] = rng.integers(0, 1 << form.word_bits, int(clash.sum()), np.uint64)
        clash = clashes()
    if len(tops):
        frequent = rng.choice(tops, count) | rng.integers(0, 1 << shift, count, np.uint64)
        words = np.where(literal | zeros, words, frequent)
    words = np.where(~literal & zeros, np.uint64(0), words)
    return rotated(words.astype(dtype), form, -1)


def _plain(config: CodecConfig, block: str) -> Limits:
    # A compressor cannot send a header before the window is in; many lanes have more stages than a window has beats.
    latency = max(6, config.beats + 2) if block == "compressor" else 3 + config.header_reads
    if block == "decompressor" and not config.work_conserving:
        # A packet that follows waits until all of the one before has been accepted, and for that one's report.
        return Limits(constant=0, latency=latency, back_to_back=2, exact=True)
    if not config.work_conserving:
        # The stages of the window store, and the register of the output.
        constant = max(config.beats - 1, (config.units.bit_length() + 3) // 2) + config.queue
        return Limits(constant=constant, latency=latency, back_to_back=0, exact=True)
    constant = max(8, config.beats + 4)
    if config.format.mask_words:
        # A compressor cannot send a mask before the group is in; a decompressor reads it in a cycle of its own.
        waits = config.format.group * config.beats + 3 if block == "compressor" else 1
        constant, latency = constant + waits, latency + waits
    if block == "compressor":
        return Limits(constant=constant, latency=latency)
    # A beat is stored only if a whole row is free, so the input may wait for a cycle while words of the oldest beat are
    # left. With two rows, a long header or padding leaves no word to make up for it.
    part, padded = config.format.header_words // config.header_reads, config.format.align_words > 1
    tight = part == 2 or (part == 1 and padded)
    return Limits(constant=constant, latency=latency, whole_beats=not tight, each_window=int(tight))


def _pipelined(config: CodecConfig, block: str) -> Limits:
    # The stages and the queues. A decompressor, too, waits for a whole window with its header.
    if block == "compressor":
        constant = config.beats + 12
        return Limits(constant=constant, latency=constant - 1)
    cycles = config.window_cycles
    # Words are spread by two levels of lanes in a cycle.
    spreading = max(2, config.units.bit_length() // 2)
    constant = config.beats + 12 + spreading + cycles + config.header_reads
    # It takes so many cycles from one header to the next, and so counts a short last window as so many beats.
    return Limits(
        constant=constant, latency=constant - 1, back_to_back=cycles - 2, least_window=cycles * config.lanes
    )


#: The one bench of this codec; it keeps no state.
BENCH = CodecBench()
