"""Random formats, words and damaged streams for decoders, and seeded tensors.

``activations`` resembles the output of a first convolution with ReLU, without a network: drawings are filtered with
random kernels, and a threshold per channel leaves the wanted density. Zeros cluster as they do in activations, and some
channels are much emptier than others.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format

from .words import Words, word_dtype

_SIDE = 64
_KERNELS = 32


def activations(size: int, density: float, seed: int = 0) -> NDArray[np.float32]:
    """Returns at least ``size`` numbers as (n, c, h, w); the fraction ``density`` is positive, the rest is 0."""
    if not 0 <= density <= 1:
        raise ParameterError(f"density is {density}; it is the fraction of words that are not 0, from 0 to 1")
    rng = np.random.default_rng(seed)
    images = max(1, -(-size // (_KERNELS * _SIDE * _SIDE)))
    drawings = np.stack([_drawing(rng) for _ in range(images)])
    kernels = rng.standard_normal((_KERNELS, 3, 3)).astype(np.float32)
    maps = np.zeros((images, _KERNELS, _SIDE, _SIDE), np.float32)
    for row in range(3):
        for column in range(3):
            shifted = drawings[:, None, row : row + _SIDE, column : column + _SIDE]
            maps += kernels[:, row, column][:, None, None] * shifted
    # The densities of the channels spread about the wanted one.
    spread = min(density, 1 - density)
    wanted = density + spread * np.linspace(-0.8, 0.8, _KERNELS)
    for channel, share in enumerate(rng.permutation(wanted)):
        values = maps[:, channel]
        lowest = np.quantile(values, 1 - share) if share < 1 else values.min() - 1
        values -= np.float32(lowest)
    if density == 0:
        return np.zeros_like(maps)
    return np.maximum(maps, 0, out=maps)


def _drawing(rng: np.random.Generator) -> NDArray[np.float32]:
    """Draws soft blobs and a few hard edges, with a little noise like that of a camera."""
    side = _SIDE + 2
    y, x = np.mgrid[:side, :side].astype(np.float32)
    image = rng.normal(0, 0.03, (side, side)).astype(np.float32)
    for _ in range(6):
        centre_x, centre_y = rng.uniform(0, side, 2)
        radius = rng.uniform(4, 20)
        image += rng.normal() * np.exp(-((x - centre_x) ** 2 + (y - centre_y) ** 2) / (2 * radius**2))
    for _ in range(3):
        a, b = rng.normal(size=2)
        image += rng.normal() * (a * (x - side / 2) + b * (y - side / 2) > rng.uniform(-10, 10))
    return image.astype(np.float32)


#: Every shape: the bits of a word, the window, the bits of a code, those of the field, and the alignment.
SHAPES = [
    shape
    for shape in itertools.product(
        (8, 16, 32), (4, 8, 16, 32, 64), (1, 2, 3, 4), (0, 8, 16, 24), (1, 2, 4, 8)
    )
    if shape[3] < shape[0] and shape[1] * shape[2] % (8 if shape[3] else shape[0]) == 0
]


def draw(rng: np.random.Generator, shape: tuple[int, ...], levels: int = 1) -> tuple[Format, Words]:
    """A format of that shape, with two levels if it can have them and shall, and words of which many are zero or in its
    table."""
    word_bits, window, code_bits, field_bits, align = shape
    zero = bool(field_bits) and (levels == 2 or rng.random() < 0.5)
    bits = field_bits or word_bits
    entries = int(rng.integers(0 if zero else 1, 2**code_bits - zero))
    values = rng.integers(0, 1 << bits if rng.random() < 0.5 else 4, entries)
    rotate = int(rng.integers(0, word_bits)) if field_bits else 0
    format = Format(word_bits, window, code_bits, tuple(values.tolist()), field_bits, rotate, zero, align)
    if levels == 1:
        return format, draw_words(rng, format)
    groups = [group for group in (8, 16, 32, 64) if group % format.stream_bits == 0]
    format = replace(format, levels=2, group=int(rng.choice(groups)))
    words = draw_words(rng, format, 3 * format.group)
    # Few windows, or most, or all of a group are absent.
    absent = rng.random(3 * format.group) < rng.choice([0.1, 0.9, 1])
    words[np.repeat(absent, format.window)[: len(words)]] = 0 if zero else format.values[0]
    return format, words


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
