"""Random words and damaged streams of every shape of format through kernels, in buffers without a byte to spare.

Run as a program, with the path of a built module, a seed, a number of rounds and which shapes: for sanitizers, which need a
process of their own.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np

from cdma.hdl.spec.format import Format
from cdma.hdl.spec.presets import PRESETS
from cdma.sim.codec import model
from cdma.sim.codec.native import Kernels
from cdma.sim.codec.results import CorruptStream
from cdma.sim.codec.words import Words, word_dtype

__all__ = ["SHAPES", "check", "check_all", "draw", "draw_words"]

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


def draw_words(rng: np.random.Generator, format: Format) -> Words:
    """Words of which many are zero or in the format's table."""
    size = int(rng.integers(0, 6 * format.window))
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


def check(kernels: Kernels, format: Format, words: Words, rng: np.random.Generator) -> None:
    """Compares kernels with the golden model, on words and on four streams that may be damaged."""
    what = f"{kernels.name}, {format}, {len(words)} words"
    stream = model.compress(words, format)
    target = np.empty(format.bound_bytes(len(words)), np.uint8)
    assert target[: kernels.compress(words, format, target)].tobytes() == stream, what
    for data in (stream, *(damaged(rng, stream) for _ in range(4))):
        try:
            expected = model.decompress(data, len(words), format)
        except CorruptStream:
            expected = None
        result = np.empty(len(words), words.dtype)
        took = kernels.decompress(np.frombuffer(data, np.uint8), result, format)
        assert (took == len(data)) == (expected is not None), what
        assert expected is None or np.array_equal(result, expected), what


def check_all(kernels: Kernels, rng: np.random.Generator, every: int = 1) -> int:
    """Compares kernels with the golden model once on every so many-th shape, and on every preset; returns how often."""
    drawn = [draw(rng, shape) for shape in SHAPES[::every]]
    drawn += [(format, draw_words(rng, format)) for format in map(Format.preset, PRESETS)]
    for format, words in drawn:
        check(kernels, format, words, rng)
    return len(drawn)


def _main(path: str, seed: str, rounds: str, every: str) -> None:
    from tests.support.native_build import load

    module = load(Path(path))
    rng = np.random.default_rng(int(seed))
    count = 0
    for level in list(module.levels()) * int(rounds):
        count += check_all(Kernels(module, level), rng, int(every))
    print(f"{count} packets by {', '.join(module.levels())}")


if __name__ == "__main__":
    _main(*sys.argv[1:])
