"""The bits of one saved tensor: a stream of the codec, of the numbers themselves or of the integers that they became.

Everything here is on the CPU. What torch rounds here is what the quantiser of the hardware makes, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from cdma.hdl.spec.format import Format
from cdma.hdl.spec.quantisation import Quantisation
from cdma.sim.codec.nibbles import compress_nibbles, decompress_nibbles
from cdma.sim.codec.software import compress, decompress
from cdma.sim.codec.words import Words

__all__ = ["NUMBERS", "Coded", "Step", "coded", "lossless_format", "quantised"]

#: The number types that the quantiser takes, by their names in torch.
NUMBERS = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}

#: Bytes of a descriptor that say the exponent of the step.
_EXPONENT_BYTES = 1

#: Words whose frequencies stand for those of all.
_SAMPLE = 1 << 14


@dataclass(frozen=True)
class Step:
    """How a tensor becomes integers: its step is ``2**exponent``.

    ``bits``
        The bits of the integers, the fewest first; those that hold the largest are taken.
    ``code_bits``
        The bits of the codes of the codec behind: 1 for zeros, 2 for the three most frequent integers. The one with the
        fewest bytes is taken.
    ``keep_nonzero``
        Whether what is not zero may become zero.
    """

    exponent: int
    bits: tuple[int, ...] = (4, 8)
    code_bits: tuple[int, ...] = (1, 2)
    keep_nonzero: bool = True


@dataclass(frozen=True)
class Coded:
    """A tensor of one dimension as bits; ``restored()`` makes it of them.

    ``size``
        Bytes of the stream and of what must be known beside it: the table and the exponent of the step.
    ``error``, ``squares``, ``numbers``
        The largest difference, and the sums of the squares of the differences and of the numbers; 0 without loss.
    """

    size: int
    restored: _Elements | _Integers
    bits: int = 0
    error: float = 0.0
    squares: float = 0.0
    numbers: float = 0.0


def coded(flat: Tensor) -> Coded:
    """Compresses without loss: bit for bit."""
    format = lossless_format(flat.dtype)
    stream = compress(flat, format)
    words = flat.numel() * flat.element_size() * 8 // format.word_bits
    return Coded(len(stream) + _table_bytes(format), _Elements(stream, words, format, flat.dtype))


def quantised(flat: Tensor, step: Step) -> Coded | None:
    """Compresses the integers of numbers; None if one is NaN, infinite or too large, which the hardware reports."""
    dtype = flat.dtype
    for bits in step.bits:
        if bits >= 8 * dtype.itemsize:
            continue
        form = Quantisation(NUMBERS[dtype], bits)
        exponent = min(max(step.exponent, form.least_exponent), form.greatest_exponent)
        if exponent > step.exponent:
            continue
        numbers = flat.float()
        # A power of two times a number is exact, but where the product is so small that it rounds to zero either way.
        whole = (numbers * 2.0**-exponent).round_()
        if step.keep_nonzero:
            whole.add_(numbers.sign().masked_fill_(whole != 0, 0))
        least, most = torch.aminmax(whole)
        # Not true of NaN either.
        if not (float(least) >= -form.limit and float(most) <= form.limit):
            continue
        difference = torch.add(numbers, whole, alpha=-(2.0**exponent))
        error = max(abs(float(end)) for end in torch.aminmax(difference))
        integers = whole.to(torch.int8 if bits <= 8 else torch.int16).numpy()
        kind = integers.dtype
        words = integers.view(f"u{kind.itemsize}")
        if bits == 4:
            words = words & np.uint8(15)
        format = _integer_format(words, bits, step.code_bits)
        stream = compress_nibbles(words, format) if bits == 4 else compress(words, format)
        return Coded(
            len(stream) + _table_bytes(format) + _EXPONENT_BYTES,
            _Integers(stream, len(words), format, bits, exponent, dtype),
            bits,
            error,
            float(torch.dot(difference, difference)),
            float(torch.dot(numbers, numbers)),
        )
    return None


@dataclass(frozen=True)
class _Elements:
    """A stream of the elements themselves, in words."""

    stream: bytes
    words: int
    format: Format
    dtype: torch.dtype

    def __call__(self) -> Tensor:
        words = decompress(self.stream, self.words, self.format)
        return torch.from_numpy(words.view(np.uint8)).view(self.dtype)


@dataclass(frozen=True)
class _Integers:
    """A stream of integers, for a tensor of numbers."""

    stream: bytes
    count: int
    format: Format
    bits: int
    exponent: int
    dtype: torch.dtype

    def __call__(self) -> Tensor:
        if self.bits == 4:
            words = decompress_nibbles(self.stream, self.count, self.format)
            signed = (words << np.uint8(4)).view(np.int8) >> np.int8(4)
        else:
            signed = decompress(self.stream, self.count, self.format).view(f"i{self.bits // 8}")
        return (torch.from_numpy(signed).float() * 2.0**self.exponent).to(self.dtype)


def _integer_format(words: Words, bits: int, code_bits: tuple[int, ...]) -> Format:
    """The format of fewest bytes: codes of one bit for zeros, longer ones for the most frequent integers."""
    if code_bits == (1,):
        return Format(word_bits=bits)
    # Of many a sample says which are frequent.
    counts = np.bincount(words[:: 1 + len(words) // _SAMPLE], minlength=1)
    total = int(counts.sum())

    def of(code: int) -> tuple[float, Format]:
        if code == 1:
            table = np.zeros(1, np.intp)
        else:
            table = np.argsort(-counts, kind="stable")[: (1 << code) - 1]
        literals = total - int(counts[table].sum())
        format = Format(word_bits=bits, code_bits=code, values=tuple(table.tolist()))
        return (code + bits * literals / total) * len(words) + 8 * _table_bytes(format), format

    return min((of(code) for code in code_bits), key=lambda found: found[0])[1]


def _table_bytes(format: Format) -> int:
    """Bytes of a table that must be known beside the stream."""
    return 0 if format.values == (0,) else len(format.values) * max(1, format.entry_bits // 8)


@cache
def lossless_format(dtype: torch.dtype) -> Format:
    """Zero-value compression in words of the element, at most 32 bits; whole numbers are small, so theirs are of 16."""
    if dtype == torch.bool:
        return Format(word_bits=8, code_bits=2, values=(0, 1))
    whole = not (dtype.is_floating_point or dtype.is_complex)
    return Format(word_bits=min(8 * dtype.itemsize, 16 if whole else 32))
