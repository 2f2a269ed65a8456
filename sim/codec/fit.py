"""The format that suits a tensor: its density, the best table of frequent values, and the bytes in each format.

Bytes follow from counts of the tensor's words. Also here: the sequence of windows that costs a codec the most cycles a
word.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cdma.base.errors import CdmaError, ParameterError
from cdma.hdl.spec.format import PRESETS, Format

from .model import model_of
from .words import Words, base_of, rotated, words_of

#: Windows as the literals of their beats, by their cycles and those of the contract.
Kinds = dict[tuple[int, float], tuple[int, ...]]


def worst_circle(windows: Mapping[tuple[int, int], Kinds], states: int) -> dict[int, tuple[int, ...]]:
    """The circle of windows whose ratio of cycles to those of the contract is largest, each by the state before it.

    ``windows`` has those between ``states`` of the codec. The result is empty if no circle takes more cycles than the
    contract has.
    """
    ratio, circle = 1.0, dict[int, tuple[int, ...]]()
    # Each circle whose ratio is larger than the last one's is the better one, until there is none.
    while (better := _circle_above(ratio, windows, states)) is not None:
        ratio, circle = better
    return circle


def _circle_above(
    ratio: float, windows: Mapping[tuple[int, int], Kinds], states: int
) -> tuple[float, dict[int, tuple[int, ...]]] | None:
    """A circle of windows with more cycles than ``ratio`` times the contract's: its ratio, and each window by the state
    before it."""
    steps = {
        ends: max(kinds.items(), key=lambda kind: kind[0][0] - ratio * kind[0][1])
        for ends, kinds in windows.items()
    }
    best = np.zeros(states)
    before: dict[int, int] = {}
    for _ in range(states + 1):
        changed = -1
        for (state, after), ((cycles, allowed), _) in steps.items():
            gain = best[state] + cycles - ratio * allowed
            if gain > best[after] + 1e-9:
                best[after], before[after], changed = gain, state, after
        if changed < 0:
            return None
    # After so many rounds a state that still gains lies on a circle or behind one.
    for _ in range(states):
        changed = before[changed]
    path = [changed]
    while len(path) == 1 or path[-1] != changed:
        path.append(before[path[-1]])
    chosen = [steps[state, after] for after, state in itertools.pairwise(path)][::-1]
    cycles = sum(figures[0] for figures, _ in chosen)
    circle = {state: counts for state, (_, counts) in zip(path[:0:-1], chosen, strict=True)}
    return cycles / sum(figures[1] for figures, _ in chosen), circle


#: Words whose histogram decides; of a larger tensor as many are drawn, always the same ones.
_SAMPLE = 1 << 20
#: Elements that a sample has from one place.
_RUN = 1 << 12


def fit(array: ArrayLike, format: Format, *, base: ArrayLike | None = None, whole: bool = False) -> Format:
    """The format with the table that makes the stream of a tensor shortest; of two levels, with two or with one.

    Of a tensor of more than a million words evenly spaced runs of words decide, a million in all, or with ``whole`` all
    of them. Where there is nothing to learn from, the table stays as it is.
    """
    words = words_of(array, format)
    other = base_of(base, len(words), format)
    if not whole:
        words, other = sampled(words), None if other is None else sampled(other)
    words = words if other is None else words ^ other
    fitted = _with_table(words, format, whole)
    if format.levels == 2:
        single = replace(fitted, levels=1, group=Format.group)
        return min(single, fitted, key=lambda each: model_of(each).stream_words(words, each))
    return fitted


def _with_table(words: Words, format: Format, whole: bool) -> Format:
    """The format with the most frequent words, or fields."""
    entries: Words = words
    if format.field_bits:
        field = f"u{4 if format.field_bits > 16 else format.field_bits // 8}"
        fields = rotated(words, format) >> words.dtype.type(format.word_bits - format.field_bits)
        entries = fields.astype(field)
        if format.zero:
            entries = entries[words != 0]
    if not len(entries) or not format.table_entries:
        return format
    return format.with_table(frequent_values(entries, format.table_entries, whole=whole))


def field_variants(preset: Format) -> tuple[Format, ...]:
    """The formats to try on words whose fields are frequent: a preset, and its kin with other codes.

    Fewer codes cost less where few fields occur, more reach further, and where no word is zero its code serves one field
    more.
    """
    return (
        preset,
        replace(preset, zero=False),
        *(replace(preset, code_bits=bits, values=()) for bits in (2, 4)),
    )


def sampled(flat: NDArray[Any]) -> NDArray[Any]:
    """Evenly spaced runs of the elements of a tensor of one dimension, a million in all, or all if they are no more."""
    runs = sampled_runs(len(flat))
    if runs is None:
        return flat
    begins, run = runs
    return np.concatenate([flat[begin : begin + run] for begin in begins])


def sampled_runs(length: int) -> tuple[NDArray[np.intp], int] | None:
    """Where the runs of a sample begin, and their length; None for a tensor that is its own sample."""
    if length <= _SAMPLE:
        return None
    return np.linspace(0, length - _RUN, _SAMPLE // _RUN).astype(np.intp), _RUN


def frequent_values(words: Words, count: int, *, whole: bool = False) -> tuple[int, ...]:
    """Returns up to ``count`` different words, the most frequent first, and of equally frequent ones the least first.

    Of more than a million words a million drawn evenly decide, unless the ``whole`` tensor shall; that moves only values
    that are rare, or about equally frequent. Of no words it is ``(0,)``.
    """
    if not len(words):
        return (0,)
    if len(words) > _SAMPLE and not whole:
        words = words[np.random.default_rng(0).integers(0, len(words), _SAMPLE)]
    if words.dtype.itemsize <= 2:
        counts = np.bincount(words, minlength=1)
        values = np.flatnonzero(counts)
        counts = counts[values]
    else:
        values, counts = np.unique(words, return_counts=True)
    order = np.lexsort((values, -counts))[:count]
    return tuple(int(values[place]) for place in order)


#: Words counted at once. They fit the cache of a processor, and a mapped file is never in memory as a whole.
CHUNK_WORDS = 1 << 18
_CODE_BITS = (1, 2, 3, 4)

#: The presets with a field, by the bits of their words.
_FIELDS = {
    format.word_bits: (name, format)
    for name, format in ((name, Format.preset(name)) for name in PRESETS)
    if format.field_bits
}

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Fit:
    """A format with the table that suits a tensor, and the bytes that the tensor takes in it.

    ``compressed``: Bytes of the stream, and of the table unless it is only zero.
    """

    format: Format
    compressed: int

    @property
    def kind(self) -> Format:
        """The format without the table of the tensor: what hardware with a run-time table is generated for."""
        return self.format.with_table((0,))

    def __str__(self) -> str:
        return _name(self.format)


def _name(format: Format) -> str:
    """``zvc32``, ``fvc8, c=2``, ``bf16``, ``bf16, c=4`` or ``bf16, no zero``: what differs from a preset but its table."""
    if format.field_bits:
        name, preset = _FIELDS[format.word_bits]
        name += "" if format.code_bits == preset.code_bits else f", c={format.code_bits}"
        return name if format.zero else f"{name}, no zero"
    if format.code_bits == 1 and format.values == (0,):
        return f"zvc{format.word_bits}"
    return f"fvc{format.word_bits}, c={format.code_bits}"


def fits_of_words(words: Words, progress: Progress) -> tuple[list[Fit], int]:
    """Zero-value compression, then tables of frequent words for each code size; and how many words are zero. ``progress``
    gets bytes counted."""
    word_bits = 8 * words.dtype.itemsize
    candidates = (0, *(value for value in frequent_values(words, 15) if value))[:16]
    counts = _counts(words, candidates, progress)
    ranked = sorted((value for value in counts if counts[value]), key=lambda value: (-counts[value], value))
    tables: list[tuple[int, tuple[int, ...]]] = [(1, (0,))] if ranked[:1] != [0] else []
    tables += [(code_bits, tuple(ranked[: (1 << code_bits) - 1]) or (0,)) for code_bits in _CODE_BITS]
    fits = []
    for code_bits, values in tables:
        format = Format(word_bits, code_bits=code_bits, values=values)
        literals = len(words) - sum(counts[value] for value in values)
        fits.append(_fit(format, len(words), literals * word_bits // 8))
    return fits, counts[0]


def fits_of_fields(words: Words, progress: Progress) -> Iterator[Fit]:
    """Yields the formats with codes of zero and of the most frequent exponents, for words of 16 or 32 bits."""
    _, preset = _FIELDS[8 * words.dtype.itemsize]
    shift = words.dtype.type(preset.word_bits - preset.field_bits)
    counts: NDArray[np.int64] = np.zeros(1 << preset.field_bits, np.int64)
    for chunk in _chunks(words):
        counts += np.bincount(rotated(chunk[chunk != 0], preset) >> shift, minlength=len(counts))
        progress(chunk.nbytes)
    zeros = len(words) - counts.sum()
    for kind in field_variants(preset):
        # Without a code of its own a word of zeros is one with the field 0.
        exponents = counts if kind.zero else counts + zeros * (np.arange(len(counts)) == 0)
        ranked = np.argsort(-exponents, kind="stable")[: kind.table_entries]
        table = ranked[exponents[ranked] > 0]
        short = int(exponents[table].sum()) * preset.field_bits // 8
        stored = int(exponents.sum()) * words.dtype.itemsize - short
        yield _fit(kind.with_table(table.tolist()), len(words), stored)


def _fit(format: Format, words: int, stored: int) -> Fit:
    """The fit of a tensor of whose words ``stored`` bytes are in the stream."""
    headers = -(-words // format.window) * format.window * format.code_bits // 8
    entry_bytes = (format.field_bits or format.word_bits) // 8
    return Fit(format, headers + stored + (0 if format.values == (0,) else len(format.values) * entry_bytes))


def _counts(words: Words, values: Sequence[int], progress: Progress) -> Mapping[int, int]:
    """Counts how often each value occurs."""
    counts = dict.fromkeys(values, 0)
    for chunk in _chunks(words):
        if words.dtype.itemsize <= 2:
            histogram = np.bincount(chunk, minlength=1 << 8 * words.dtype.itemsize)
            for value in values:
                counts[value] += int(histogram[value])
        else:
            for value in values:
                counts[value] += int(np.count_nonzero(chunk == words.dtype.type(value)))
        progress(chunk.nbytes)
    return counts


def _chunks(words: Words) -> Iterator[Words]:
    for start in range(0, len(words), CHUNK_WORDS):
        yield words[start : start + CHUNK_WORDS]


#: Another format than zero-value compression must make a tensor this much smaller to be worth a table.
_CLEARLY = 0.99


class NothingToProfile(CdmaError, ValueError):
    """A profile needs a tensor with elements, and none was given."""


@dataclass(frozen=True)
class TensorProfile:
    """One tensor and every format tried on it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    raw: int
    #: Part of the elements that are not zero, bit for bit.
    density: float
    #: Elements that are minus zero, which are literals to a codec that looks for zero.
    minus_zeros: int
    #: Zero-value compression in words of the element's size first, then every other word size, table and field.
    fits: tuple[Fit, ...]

    @property
    def zvc(self) -> Fit:
        """Zero-value compression in words of the element's size."""
        return self.fits[0]

    @cached_property
    def best(self) -> Fit:
        """Zero-value compression, unless another fit has clearly fewer bytes; then that with the fewest."""
        least = min(self.fits, key=lambda fit: (fit.compressed, fit.format.code_bits, -fit.format.word_bits))
        return least if least.compressed < _CLEARLY * self.zvc.compressed else self.zvc

    @property
    def ratio(self) -> float:
        """Raw bytes per compressed byte of the best fit."""
        return self.raw / self.best.compressed


def profile(
    name: str,
    array: NDArray[Any],
    dtype: str | None = None,
    progress: Callable[[int], None] = lambda count: None,
) -> TensorProfile:
    """Profiles one tensor; ``dtype`` names its type if numpy has none for it, such as bfloat16.

    ``progress`` is called with bytes that have been counted; together they are, up to rounding, those of the tensor.
    """
    if array.dtype.kind not in "biufc":
        raise ParameterError(
            f"tensor {name!r} holds {array.dtype}, not integers, floating-point or complex numbers"
        )
    if not array.size:
        raise NothingToProfile(f"tensor {name!r} has the shape {array.shape}, and so no elements")
    # The order of elements does not change their size in these formats, and that in memory is the quickest.
    flat = array.reshape(-1, order="F" if array.flags.f_contiguous else "C")
    kind = dtype or str(array.dtype)
    largest = next(bits for bits in (32, 16, 8) if array.dtype.itemsize * 8 % bits == 0)
    fits: list[Fit] = []
    density = 0.0
    sizes = (largest, *(bits for bits in (16, 8) if bits < largest))
    has_field = largest == 8 * array.dtype.itemsize and largest > 8
    passes = len(sizes) + has_field

    def part(count: int) -> None:
        progress(count // passes)

    for word_bits in sizes:
        words = words_of(flat, Format(word_bits=word_bits))
        found, zeros = fits_of_words(words, part)
        fits += found
        if word_bits == largest:
            density = _density(flat, words, zeros)
            if has_field:
                fits += fits_of_fields(words, part)
    minus = _minus_zeros(flat, kind)
    return TensorProfile(name, tuple(array.shape), kind, array.nbytes, density, minus, tuple(fits))


def _density(flat: NDArray[Any], words: Words, zero_words: int) -> float:
    """Returns the part of the elements with any bit set."""
    if len(words) == len(flat):
        return (len(words) - zero_words) / len(words)
    per_element = len(words) // len(flat)
    return float(np.count_nonzero(words.reshape(-1, per_element).any(axis=1))) / len(flat)


def _minus_zeros(flat: NDArray[Any], kind: str) -> int:
    """Counts the elements whose only set bit is the sign; 0 for types without a minus zero."""
    if flat.dtype.kind == "c" or not kind.startswith(("float", "bfloat")):
        return 0
    bits = flat.view(f"u{flat.dtype.itemsize}")
    sign = bits.dtype.type(1 << (8 * flat.dtype.itemsize - 1))
    return sum(
        int(np.count_nonzero(bits[start : start + CHUNK_WORDS] == sign))
        for start in range(0, len(bits), CHUNK_WORDS)
    )
