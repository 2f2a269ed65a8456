"""The table of frequent values that suits a tensor best."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cdma.hdl.spec.format import Format

from .words import Words, rotated, words_of

__all__ = ["field_variants", "fit", "frequent_values", "sampled", "sampled_runs"]

#: Words whose histogram decides; of a larger tensor as many are drawn, always the same ones.
_SAMPLE = 1 << 20
#: Elements that a sample has from one place.
_RUN = 1 << 12


def fit(array: ArrayLike, format: Format, *, whole: bool = False) -> Format:
    """The format with the table that makes the stream of a tensor shortest.

    Of a tensor of more than a million words evenly spaced runs of words decide, a million in all, or with ``whole`` all
    of them. Where there is nothing to learn from, the table stays as it is.
    """
    words = words_of(array, format)
    if not whole:
        words = sampled(words)
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
