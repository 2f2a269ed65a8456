"""Bounds of the compression ratio of a tensor; docs/study/ (codecs.md, formats.md) says what they bound."""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format
from cdma.sim.codec.headers import codes_of
from cdma.sim.codec.words import Words, rotated

__all__ = ["byte_bound", "entropy_bits", "field_counts", "huffman_bits", "table_bound"]


def entropy_bits(counts: NDArray[np.integer]) -> float:
    """Returns the entropy, in bits per symbol, of symbols that occur ``counts`` times; 0 for no symbols."""
    total = int(counts.sum())
    if not total:
        return 0.0
    shares = counts[counts > 0] / total
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def huffman_bits(counts: NDArray[np.integer]) -> float:
    """Returns the mean length, in bits, of a Huffman code's symbols; 1 where there is one symbol, 0 for no symbols."""
    heap = [int(count) for count in counts if count]
    if len(heap) < 2:
        return float(len(heap))
    total, bits = sum(heap), 0
    heapq.heapify(heap)
    while len(heap) > 1:
        # Every symbol below the new node gets a bit.
        joined = heapq.heappop(heap) + heapq.heappop(heap)
        bits += joined
        heapq.heappush(heap, joined)
    return bits / total


def field_counts(words: Words, format: Format) -> NDArray[np.integer]:
    """Returns how often the words have each value of the format's field, of at most 16 bits."""
    fields = rotated(words, format) >> words.dtype.type(format.word_bits - format.field_bits)
    return np.bincount(fields, minlength=1 << format.field_bits)


def table_bound(words: Words, format: Format) -> float:
    """Returns the ratio that no coder beats which keeps literals as they are and codes each word for itself.

    Such a coder spends the entropy of the code on every word, and ``word_bits`` on every literal.
    """
    if not len(words):
        return 1.0
    counts = np.bincount(codes_of(words, format), minlength=format.literal_code + 1)
    bits = entropy_bits(counts) + counts[format.literal_code] / len(words) * format.word_bits
    return float(format.word_bits / bits) if bits else math.inf


def byte_bound(words: Words) -> float:
    """Returns the ratio that no coder beats which codes each byte for itself, by its position in the word."""
    if not len(words):
        return 1.0
    size = words.dtype.itemsize
    planes = np.ascontiguousarray(words).view(np.uint8).reshape(-1, size)
    bits = sum(entropy_bits(np.bincount(planes[:, plane], minlength=256)) for plane in range(size))
    return 8 * size / bits if bits else math.inf
