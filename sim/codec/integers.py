"""The integers of an error-bounded stage as the words of a codec: two's complement in as many bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["integers_of", "words_of"]


def words_of(integers: NDArray[Any], bits: int) -> NDArray[Any]:
    """The words of integers of 4, 8 or 16 bits; those of 4 come and go in elements of 8."""
    words = integers.view(f"u{integers.dtype.itemsize}")
    return words & np.uint8(15) if bits == 4 else words


def integers_of(words: NDArray[Any], bits: int) -> NDArray[Any]:
    """The integers of words, with their signs."""
    integers = words.view(f"i{words.dtype.itemsize}")
    return integers << np.int8(4) >> np.int8(4) if bits == 4 else integers
