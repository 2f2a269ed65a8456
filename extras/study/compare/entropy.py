"""Bounds of the compression ratio of a tensor, and codecs of the papers that are rebuilt for their ratio alone; docs/study/
(codecs.md, formats.md) says what they bound.

- SZ, which COMET rests on: integers to a bound, Lorenzo's prediction in the plane, a Huffman code. Integers come first, so
  that the prediction is exact (cuSZ), and zeros stay zeros.
- A codec after JPEG-ACT: cosines of blocks of 8 x 8, integers, and runs of zeros in a Huffman code. The steps are those of
  JPEG's table for brightness, all scaled alike until the root of the mean square error is what is allowed.
- This hardware's integers and codes beside these: SZ's error is within the same bound, and that of the cosines has the same
  mean square. Numbers that are not zero may become zero, as for what a convolution reads.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import Quantisation
from cdma.sim.codec.headers import codes_of
from cdma.sim.codec.model import compress_words
from cdma.sim.codec.quantise import dequantise, quantise
from cdma.sim.codec.words import Words, rotated


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


#: Bytes of a symbol in the table of a Huffman code: the symbol, and the length of its code.
_SYMBOL_BYTES = 3


def predictive_integers(tensor: NDArray[np.float32], bound: float) -> NDArray[np.int64]:
    """The integers of numbers, in steps of twice the bound."""
    return np.rint(tensor.astype(np.float64) / (2 * bound)).astype(np.int64)


def predictive_differences(integers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each integer less what those to the left, above, and left above it predict."""
    across = np.diff(integers, axis=-1, prepend=0)
    return np.diff(across, axis=-2, prepend=0) if integers.ndim > 1 else across


def predictive_bytes(differences: NDArray[np.int64]) -> float:
    """Bytes of the differences in a Huffman code of their own, and of its table."""
    _, counts = np.unique(differences, return_counts=True)
    return huffman_bits(counts) * differences.size / 8 + _SYMBOL_BYTES * len(counts)


_SIZE = 8
#: Bytes of a symbol in the table of a Huffman code: the symbol, and the length of its code.
_SYMBOLS_BYTES = 2
#: Halvings of the interval in which the scale of the steps is looked for.
_HALVINGS = 20

#: The table for brightness of ITU-T T.81, K.1.
_STEPS = np.array(
    [
        [16, 11, 10, 16, 24, 40, 51, 61],
        [12, 12, 14, 19, 26, 58, 60, 55],
        [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62],
        [18, 22, 37, 56, 68, 109, 103, 77],
        [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101],
        [72, 92, 95, 98, 112, 100, 103, 99],
    ],
    float,
)


def _cosines() -> NDArray[np.float64]:
    rows, columns = np.mgrid[:_SIZE, :_SIZE]
    cosines = np.cos((2 * columns + 1) * rows * np.pi / (2 * _SIZE)) * np.sqrt(2 / _SIZE)
    cosines[0] /= np.sqrt(2)
    return np.asarray(cosines, np.float64)


_COSINES = _cosines()
#: The places of a block from low to high frequencies, along its diagonals.
_ZIGZAG = np.array(
    sorted(
        range(_SIZE * _SIZE),
        key=lambda at: (
            (at // _SIZE + at % _SIZE),
            (at % _SIZE if (at // _SIZE + at % _SIZE) % 2 == 0 else at // _SIZE),
        ),
    )
)


@dataclass(frozen=True)
class Transformed:
    """The bytes of a tensor, and the root of the mean square of its errors."""

    size: float
    error: float


def transformed_within(tensor: NDArray[np.float32], error: float) -> Transformed:
    """The fewest bytes whose errors have at most this root of their mean square."""
    least, most = 1e-6, 1e6
    for _ in range(_HALVINGS):
        scale = float(np.sqrt(least * most))
        if transformed(tensor, scale * error / _STEPS[0, 0]).error <= error:
            least = scale
        else:
            most = scale
    return transformed(tensor, least * error / _STEPS[0, 0])


def transformed(tensor: NDArray[np.float32], scale: float) -> Transformed:
    """The tensor with the table's steps times ``scale``."""
    blocks, there = _blocks(tensor.astype(np.float64))
    integers = np.rint(_COSINES @ blocks @ _COSINES.T / (_STEPS * scale)).astype(np.int64)
    back = _COSINES.T @ (integers * (_STEPS * scale)) @ _COSINES
    error = np.sqrt(np.square(back - blocks)[there].mean())
    return Transformed(_coded(integers.reshape(-1, _SIZE * _SIZE)[:, _ZIGZAG]), float(error))


def _blocks(tensor: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Blocks of the planes, filled up with their edges, and which of their places are the tensor's."""
    planes = tensor.reshape(-1, *tensor.shape[-2:])
    more = [(0, 0), *((0, -size % _SIZE) for size in planes.shape[1:])]
    filled, there = np.pad(planes, more, "edge"), np.pad(np.ones(planes.shape, bool), more)

    def cut(of: NDArray[np.generic]) -> NDArray[np.generic]:
        count, height, width = of.shape
        parts = of.reshape(count, height // _SIZE, _SIZE, width // _SIZE, _SIZE)
        return parts.transpose(0, 1, 3, 2, 4).reshape(-1, _SIZE, _SIZE)

    return cut(filled), cut(there)  # type: ignore[return-value]


def _coded(blocks: NDArray[np.int64]) -> float:
    """Bytes of blocks as JPEG codes them: how many zeros come before an integer, how many bits it has, and these bits."""
    which, place = np.nonzero(blocks)
    before = np.empty_like(place)
    before[1:] = np.where(which[1:] == which[:-1], place[:-1], -1)
    before[:1] = -1
    runs = place - before - 1
    bits = np.frexp(np.abs(blocks[which, place]).astype(float))[1]
    # Sixteen zeros have a symbol of their own, and so has the end of a block that ends with zeros.
    long = runs // 16
    ends = int(np.count_nonzero(blocks[:, -1] == 0))
    symbols = np.concatenate(
        [(runs % 16) * 64 + bits, np.full(int(long.sum()), 15 * 64), np.zeros(ends, int)]
    )
    _, counts = np.unique(symbols, return_counts=True)
    return (huffman_bits(counts) * len(symbols) + float(bits.sum())) / 8 + _SYMBOLS_BYTES * len(counts)


@dataclass(frozen=True)
class Bounded:
    """Bytes of a tensor per compressed byte, and the error that all make.

    ``error``: The root of the mean square of the errors, relative to that of the numbers.
    """

    error: float
    cdma: float
    sz: float
    jpeg: float


def bounded(tensor: NDArray[np.float32], relative: int) -> Bounded:
    """A tensor of planes, which has a number that is not zero, within ``2**relative`` of its peak."""
    # The greatest power of two that is not above the peak, as a bound of a policy has it.
    bound_exponent = int(np.frexp(np.abs(tensor).max())[1]) - 1 + relative
    bound = 2.0**bound_exponent
    size, restored = _ours(tensor, bound_exponent + 1)
    error = float(np.sqrt(np.square(restored - tensor).mean()))
    differences = predictive_differences(predictive_integers(tensor, bound))
    return Bounded(
        error / float(np.sqrt(np.square(tensor).mean())),
        tensor.nbytes / size,
        tensor.nbytes / predictive_bytes(differences),
        tensor.nbytes / transformed_within(tensor, error).size,
    )


def _ours(tensor: NDArray[np.float32], step: int) -> tuple[float, NDArray[np.float32]]:
    """The fewest bytes that an engine's stage and codec make of it, table and step included, and the numbers again."""
    words = tensor.view(np.uint32).ravel()
    for bits in (4, 8):
        form = Quantisation("fp32", bits)
        found = quantise(words, step, form)
        if not found.reported:
            break
    integers = found.integers.view(np.uint8) & np.uint8((1 << bits) - 1)
    counts = np.bincount(integers)
    sizes = []
    for code_bits in (1, 2):
        table = tuple(np.argsort(-counts, kind="stable")[: (1 << code_bits) - 1].tolist())
        format = Format(bits, 32, code_bits, (0,) if code_bits == 1 else table)
        packed = len(compress_words(integers, format)) * bits / 8
        sizes.append(packed + (0 if code_bits == 1 else len(table)) + 1)
    back = dequantise(found.integers, step, form).view(np.float32).reshape(tensor.shape)
    return min(sizes), back
