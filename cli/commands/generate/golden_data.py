"""Words, tables and numbers for first benches: at random, with so many that the codec stores."""

from __future__ import annotations

import numpy as np

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.quantisation import Quantisation
from cdma.hdl.spec.stream_format import StreamFormat
from cdma.sim.codec.words import Words, rotated, word_dtype

__all__ = ["some_numbers", "some_table", "some_words"]

#: The share of words that are anything, where the others are frequent ones.
_DENSITY = 0.45


def some_table(config: CodecConfig) -> tuple[int, ...]:
    """A table for a port that takes one: the format's values, and others behind them."""
    form = config.format
    others = range(1, config.table_size)
    return (*form.values, *others)[: config.table_size]


def some_words(rng: np.random.Generator, form: StreamFormat, count: int, density: float = _DENSITY) -> Words:
    """Words of which the share ``density`` is anything, and the others are frequent; in runs, as activations have them."""
    dtype = word_dtype(form)
    anything = rng.integers(1, 1 << form.word_bits, count, np.uint64).astype(dtype)
    frequent = rng.choice(np.array(form.values or (0,), np.uint64), count)
    if form.field_bits:
        assert isinstance(form, Format)
        others = form.word_bits - form.field_bits
        words = frequent << np.uint64(others) | rng.integers(0, 1 << others, count, np.uint64)
        common = rotated(words.astype(dtype), form, -1)
        common[rng.random(count) < form.zero / 2] = 0
    else:
        common = frequent.astype(dtype)
    runs = np.repeat(rng.random(-(-count // 3)) < density, 3)[:count]
    return np.where(runs, anything, common)


def some_numbers(rng: np.random.Generator, form: Quantisation, step: int, count: int) -> Words:
    """The bits of numbers around a step, given as a number stores it: some vanish, none is out of range, some are 0."""
    kind = form.number_type
    stored = rng.integers(max(0, step - 3), step + form.bits - 2, count)
    fraction = rng.integers(0, 1 << kind.fraction_bits, count)
    sign = rng.integers(0, 2, count)
    numbers = sign << (kind.bits - 1) | stored << kind.fraction_bits | fraction
    return np.where(rng.random(count) < _DENSITY, numbers, 0).astype(f"u{kind.bits // 8}")
