"""The formats that a tensor may suit, and the bytes that it takes in each, which follow from counts of its words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format
from cdma.hdl.spec.presets import PRESETS
from cdma.sim.codec.fit import field_variants, frequent_values
from cdma.sim.codec.words import Words, rotated

__all__ = ["CHUNK_WORDS", "Fit", "fits_of_fields", "fits_of_words"]

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

    ``compressed``
        Bytes of the stream, and of the table unless it is only zero.
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
    """Zero-value compression, then tables of frequent words for each code size; and how many words are zero.

    ``progress`` is called with the bytes counted.
    """
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
