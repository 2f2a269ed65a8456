"""Tables of frequent values, learnt from the histogram of a tensor."""

from __future__ import annotations

import numpy as np

from cdma.hdl.spec.format import Format
from cdma.sim.codec.words import Words

__all__ = ["frequent_values", "learn_format"]

#: Words whose histogram decides; of a larger tensor as many are drawn, always the same ones.
_SAMPLE = 1 << 20


def frequent_values(words: Words, count: int) -> tuple[int, ...]:
    """Returns up to ``count`` different words, the most frequent first, and of equally frequent ones the least first.

    Of more than a million words a million drawn evenly decide; that moves only values that are rare, or about
    equally frequent. Of no words it is ``(0,)``.
    """
    if not len(words):
        return (0,)
    if len(words) > _SAMPLE:
        words = words[np.random.default_rng(0).integers(0, len(words), _SAMPLE)]
    if words.dtype.itemsize <= 2:
        counts = np.bincount(words, minlength=1)
        values = np.flatnonzero(counts)
        counts = counts[values]
    else:
        values, counts = np.unique(words, return_counts=True)
    order = np.lexsort((values, -counts))[:count]
    return tuple(int(values[place]) for place in order)


def learn_format(words: Words, word_bits: int, code_bits: int, window: int = 32) -> Format:
    """Returns the frequent-value format whose table has the most frequent words of a tensor."""
    values = frequent_values(words, (1 << code_bits) - 1)
    return Format(word_bits=word_bits, window=window, code_bits=code_bits, values=values)
