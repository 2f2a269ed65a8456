"""One tensor: its density, and the format of the codec that suits it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.errors import CdmaError, ParameterError
from cdma.hdl.spec.format import Format
from cdma.sim.codec.fit import frequent_values
from cdma.sim.codec.words import Words, words_of

__all__ = ["Fit", "NothingToProfile", "TensorProfile", "profile"]

#: Words counted at once. They fit the cache of a processor, and a mapped file is never in memory as a whole.
_CHUNK = 1 << 18
_CODE_BITS = (1, 2, 4)
#: Another format than zero-value compression must make a tensor this much smaller to be worth a table.
_CLEARLY = 0.99


class NothingToProfile(CdmaError, ValueError):
    """A profile needs a tensor with elements, and none was given."""


@dataclass(frozen=True)
class Fit:
    """A format for a tensor, and the bytes that the tensor takes in it."""

    word_bits: int
    code_bits: int
    values: tuple[int, ...]
    #: Bytes of the stream, and of the table unless it is only zero.
    compressed: int

    @property
    def format(self) -> Format:
        """The format, with windows of 32 words."""
        return Format(self.word_bits, 32, self.code_bits, self.values)

    def __str__(self) -> str:
        if self.code_bits == 1 and self.values == (0,):
            return f"ZVC {self.word_bits}"
        return f"FVC {self.word_bits}, c={self.code_bits}"


@dataclass(frozen=True)
class TensorProfile:
    """One tensor and every format tried on it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    raw: int
    #: Part of the elements that are not zero, bit for bit.
    density: float
    #: Elements that are minus zero, which are literals to a codec that looks for zero.
    minus_zeros: int
    #: Zero-value compression in words of the element's size first, then every other word size and table.
    fits: tuple[Fit, ...]

    @property
    def zvc(self) -> Fit:
        """Zero-value compression in words of the element's size."""
        return self.fits[0]

    @cached_property
    def best(self) -> Fit:
        """Zero-value compression, unless another fit has clearly fewer bytes; then that with the fewest."""
        least = min(self.fits, key=lambda fit: (fit.compressed, fit.code_bits, -fit.word_bits))
        return least if least.compressed < _CLEARLY * self.zvc.compressed else self.zvc

    @property
    def ratio(self) -> float:
        """Raw bytes per compressed byte of the best fit."""
        return self.raw / self.best.compressed


def profile(
    name: str,
    array: NDArray[Any],
    dtype: str | None = None,
    progress: Callable[[int], None] = lambda count: None,
) -> TensorProfile:
    """Profiles one tensor; ``dtype`` names its type if numpy has none for it, such as bfloat16.

    ``progress`` is called with bytes that have been counted; together they are, up to rounding, those of the tensor.
    """
    if array.dtype.kind not in "biufc":
        raise ParameterError(f"tensor {name!r} holds {array.dtype}, not integers or floating-point numbers")
    if not array.size:
        raise NothingToProfile(f"tensor {name!r} has the shape {array.shape}, and so no elements")
    # The order of elements does not change their size in these formats, and that in memory is the quickest.
    flat = array.reshape(-1, order="F" if array.flags.f_contiguous else "C")
    kind = dtype or str(array.dtype)
    largest = next(bits for bits in (32, 16, 8) if array.dtype.itemsize * 8 % bits == 0)
    fits: list[Fit] = []
    density = 0.0
    sizes = (largest, *(bits for bits in (16, 8) if bits < largest))
    for word_bits in sizes:
        words = words_of(flat, Format(word_bits=word_bits))
        table = (0, *(value for value in frequent_values(words, 15) if value))[:16]
        counts = _counts(words, table, lambda count: progress(count // len(sizes)))
        if word_bits == largest:
            density = _density(flat, words, counts[0])
        for code_bits in _CODE_BITS:
            fits += _fits(len(words), word_bits, code_bits, counts)
    minus = _minus_zeros(flat, kind)
    return TensorProfile(name, tuple(array.shape), kind, array.nbytes, density, minus, tuple(fits))


def _fits(words: int, word_bits: int, code_bits: int, counts: Mapping[int, int]) -> Iterable[Fit]:
    """Yields the format with a table of the most frequent values, and before it zero-value compression."""
    entries = (1 << code_bits) - 1
    present = (value for value in counts if counts[value])
    ranked = sorted(present, key=lambda value: (-counts[value], value))
    tables = [tuple(ranked[:entries]) or (0,)]
    if code_bits == 1 and tables[0] != (0,):
        tables.insert(0, (0,))
    for values in tables:
        format = Format(word_bits, 32, code_bits, values)
        literals = words - sum(counts[value] for value in values)
        stream = -(-words // format.window) * format.header_words + literals
        table = 0 if values == (0,) else len(values)
        yield Fit(word_bits, code_bits, values, (stream + table) * word_bits // 8)


def _counts(words: Words, values: Sequence[int], progress: Callable[[int], None]) -> dict[int, int]:
    """Counts how often each value occurs; ``progress`` is called with the bytes counted."""
    counts = dict.fromkeys(values, 0)
    for start in range(0, len(words), _CHUNK):
        chunk = words[start : start + _CHUNK]
        if words.dtype.itemsize <= 2:
            histogram = np.bincount(chunk, minlength=1 << 8 * words.dtype.itemsize)
            for value in values:
                counts[value] += int(histogram[value])
        else:
            for value in values:
                counts[value] += int(np.count_nonzero(chunk == words.dtype.type(value)))
        progress(chunk.nbytes)
    return counts


def _density(flat: NDArray[Any], words: Words, zero_words: int) -> float:
    """Returns the part of the elements with any bit set."""
    if len(words) == len(flat):
        return (len(words) - zero_words) / len(words)
    per_element = len(words) // len(flat)
    return float(np.count_nonzero(words.reshape(-1, per_element).any(axis=1))) / len(flat)


def _minus_zeros(flat: NDArray[Any], kind: str) -> int:
    """Counts the elements whose only set bit is the sign; 0 for types without a minus zero."""
    if flat.dtype.kind == "c" or not kind.startswith(("float", "bfloat")):
        return 0
    bits = flat.view(f"u{flat.dtype.itemsize}")
    sign = bits.dtype.type(1 << (8 * flat.dtype.itemsize - 1))
    return sum(
        int(np.count_nonzero(bits[start : start + _CHUNK] == sign)) for start in range(0, len(bits), _CHUNK)
    )
