"""What SZ, which COMET rests on, makes of a tensor: integers to a bound, Lorenzo's prediction in the plane, a Huffman code.

Rebuilt for its ratio alone, after the papers: integers first, so that the prediction is exact (cuSZ), and zeros stay zeros.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .entropy import huffman_bits

__all__ = ["predictive_bytes", "predictive_differences", "predictive_integers", "predictive_restored"]

#: Bytes of a symbol in the table of a Huffman code: the symbol, and the length of its code.
_SYMBOL_BYTES = 3


def predictive_integers(tensor: NDArray[np.float32], bound: float) -> NDArray[np.int64]:
    """The integers of numbers, in steps of twice the bound."""
    return np.rint(tensor.astype(np.float64) / (2 * bound)).astype(np.int64)


def predictive_differences(integers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each integer less what those to the left, above, and left above it predict."""
    across = np.diff(integers, axis=-1, prepend=0)
    return np.diff(across, axis=-2, prepend=0) if integers.ndim > 1 else across


def predictive_restored(differences: NDArray[np.int64], bound: float) -> NDArray[np.float64]:
    """The numbers again."""
    down = differences.cumsum(axis=-2) if differences.ndim > 1 else differences
    return down.cumsum(axis=-1) * (2 * bound)


def predictive_bytes(differences: NDArray[np.int64]) -> float:
    """Bytes of the differences in a Huffman code of their own, and of its table."""
    _, counts = np.unique(differences, return_counts=True)
    return huffman_bits(counts) * differences.size / 8 + _SYMBOL_BYTES * len(counts)
