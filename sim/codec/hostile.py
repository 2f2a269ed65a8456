"""Drawn formats, words and damaged streams, with which decoders are tried."""

from __future__ import annotations

import itertools

import numpy as np

from cdma.hdl.spec.format import Format

from .words import Words, word_dtype

__all__ = ["SHAPES", "damaged", "draw", "draw_words"]

#: Every shape: the bits of a word, the window, the bits of a code, those of the field, and the alignment.
SHAPES = [
    shape
    for shape in itertools.product(
        (8, 16, 32), (4, 8, 16, 32, 64), (1, 2, 3, 4), (0, 8, 16, 24), (1, 2, 4, 8)
    )
    if shape[3] < shape[0] and shape[1] * shape[2] % (8 if shape[3] else shape[0]) == 0
]


def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Format, Words]:
    """A format of that shape, and words of which many are zero or in its table."""
    word_bits, window, code_bits, field_bits, align = shape
    zero = bool(field_bits) and rng.random() < 0.5
    bits = field_bits or word_bits
    entries = int(rng.integers(0 if zero else 1, 2**code_bits - zero))
    values = rng.integers(0, 1 << bits if rng.random() < 0.5 else 4, entries)
    rotate = int(rng.integers(0, word_bits)) if field_bits else 0
    format = Format(word_bits, window, code_bits, tuple(values.tolist()), field_bits, rotate, zero, align)
    return format, draw_words(rng, format)


def draw_words(rng: np.random.Generator, format: Format, windows: int = 6) -> Words:
    """Words of fewer than so many windows, of which many are zero or in the format's table."""
    size = int(rng.integers(0, windows * format.window))
    if rng.random() < 0.5:
        # The last window is whole, and nothing behind it forgives what writes too much.
        size -= size % format.window
    words = rng.integers(0, 1 << format.word_bits, size, np.uint64)
    if format.values:
        low = format.word_bits - (format.field_bits or format.word_bits)
        known = rng.choice(np.array(format.values, np.uint64), size) << np.uint64(low)
        known |= rng.integers(0, 1 << low, size, np.uint64)
        known = known >> np.uint64(format.rotate) | known << np.uint64(format.word_bits - format.rotate)
        words = np.where(
            rng.random(size) < rng.random(), known & np.uint64((1 << format.word_bits) - 1), words
        )
    words[rng.random(size) < rng.random() / 2] = 0
    return words.astype(word_dtype(format))


def damaged(rng: np.random.Generator, stream: bytes) -> bytes:
    """A stream with something done to it, or left alone."""
    data = bytearray(stream)
    if data and rng.random() < 0.7:
        data[rng.integers(0, len(data))] ^= 1 << int(rng.integers(0, 8))
    if rng.random() < 0.3:
        del data[rng.integers(0, len(data) + 1) :]
    if rng.random() < 0.1:
        data += rng.bytes(int(rng.integers(1, 99)))
    return bytes(data)
