"""Word arrays and streams as they lie in memory: little-endian, and words of 4 bits two to a byte, the low one first.

A zero fills the last byte of an odd number of words of 4 bits.
"""

from __future__ import annotations

import numpy as np

from .words import Words, words_to_bytes

__all__ = ["from_memory", "to_memory"]


def to_memory(words: Words, bits: int) -> bytes:
    """The bytes of an array of words, or of stream words, of 4 bits or of whole bytes."""
    if bits != 4:
        return words_to_bytes(words)
    nibbles = np.zeros(len(words) + len(words) % 2, np.uint8)
    nibbles[: len(words)] = words
    return (nibbles[0::2] | nibbles[1::2] << np.uint8(4)).tobytes()


def from_memory(data: bytes | bytearray | memoryview, bits: int) -> Words:
    """The words, or stream words, of so many bits that these bytes are; those of a word that is not whole are ignored."""
    if bits != 4:
        word = np.dtype(f"<u{bits // 8}")
        return np.frombuffer(data, word, memoryview(data).nbytes // word.itemsize).astype(
            word.newbyteorder("="), copy=False
        )
    source = np.frombuffer(data, np.uint8)
    return np.stack([source & np.uint8(15), source >> np.uint8(4)], axis=1).reshape(-1)
