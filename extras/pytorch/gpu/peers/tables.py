"""Formats whose tables of frequent values are learnt from the histogram of a tensor."""

from __future__ import annotations

from cdma.hdl.spec.format import Format
from cdma.sim.codec.fit import frequent_values
from cdma.sim.codec.words import Words

__all__ = ["learn_format"]


def learn_format(words: Words, word_bits: int, code_bits: int, window: int = 32) -> Format:
    """Returns the frequent-value format whose table has the most frequent words of a tensor."""
    values = frequent_values(words, (1 << code_bits) - 1)
    return Format(word_bits=word_bits, window=window, code_bits=code_bits, values=values)
