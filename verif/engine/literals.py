"""Tensors with a given share of literals: anywhere, or in the stripes of some units alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PATTERNS", "literal_words", "pattern_density"]

#: Where the literals are: anywhere; in every word of each second stripe; in every word of the stripes of one unit, in the
#: second half of the tensor of another one.
PATTERNS = ("scattered", "alternating", "one unit")


def pattern_density(pattern: str, units: int) -> float:
    """The share of literals of a pattern that does not leave it open."""
    return 1 / 2 if pattern == "alternating" else 1 / units


def literal_words(
    count: int,
    word_bits: int,
    density: float,
    *,
    pattern: str = "scattered",
    units: int = 1,
    stripe_words: int = 1024,
) -> NDArray[Any]:
    """``count`` words, 0 but for the literals. ``density`` is for those that are scattered; the others follow from
    ``units`` and ``stripe_words``.
    """
    rng = np.random.default_rng(1)
    words = np.zeros(count, f"u{max(8, word_bits) // 8}")
    if pattern == "scattered":
        literal = rng.permutation(count)[: round(count * density)]
    else:
        literal = np.flatnonzero(_dense(count, pattern, units, stripe_words))
    words[literal] = rng.integers(1, 1 << word_bits, len(literal))
    return words


def _dense(count: int, pattern: str, units: int, stripe_words: int) -> NDArray[np.bool_]:
    """Which words lie in stripes that have nothing but literals."""
    place = np.arange(count)
    stripe = place // stripe_words
    if pattern == "alternating":
        return stripe % 2 == 0
    return stripe % units == np.where(place < count // 2, 0, units - 1)
