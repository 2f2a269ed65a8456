"""One tensor: its density, and the format of the codec that suits it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import CdmaError, ParameterError
from cdma.hdl.spec.format import Format
from cdma.sim.codec.words import Words, words_of

from .format_fits import CHUNK_WORDS, Fit, fits_of_fields, fits_of_words

__all__ = ["NothingToProfile", "TensorProfile", "profile"]

#: Another format than zero-value compression must make a tensor this much smaller to be worth a table.
_CLEARLY = 0.99


class NothingToProfile(CdmaError, ValueError):
    """A profile needs a tensor with elements, and none was given."""


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
    #: Zero-value compression in words of the element's size first, then every other word size, table and field.
    fits: tuple[Fit, ...]

    @property
    def zvc(self) -> Fit:
        """Zero-value compression in words of the element's size."""
        return self.fits[0]

    @cached_property
    def best(self) -> Fit:
        """Zero-value compression, unless another fit has clearly fewer bytes; then that with the fewest."""
        least = min(self.fits, key=lambda fit: (fit.compressed, fit.format.code_bits, -fit.format.word_bits))
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
        raise ParameterError(
            f"tensor {name!r} holds {array.dtype}, not integers, floating-point or complex numbers"
        )
    if not array.size:
        raise NothingToProfile(f"tensor {name!r} has the shape {array.shape}, and so no elements")
    # The order of elements does not change their size in these formats, and that in memory is the quickest.
    flat = array.reshape(-1, order="F" if array.flags.f_contiguous else "C")
    kind = dtype or str(array.dtype)
    largest = next(bits for bits in (32, 16, 8) if array.dtype.itemsize * 8 % bits == 0)
    fits: list[Fit] = []
    density = 0.0
    sizes = (largest, *(bits for bits in (16, 8) if bits < largest))
    has_field = largest == 8 * array.dtype.itemsize and largest > 8
    passes = len(sizes) + has_field

    def part(count: int) -> None:
        progress(count // passes)

    for word_bits in sizes:
        words = words_of(flat, Format(word_bits=word_bits))
        found, zeros = fits_of_words(words, part)
        fits += found
        if word_bits == largest:
            density = _density(flat, words, zeros)
            if has_field:
                fits += fits_of_fields(words, part)
    minus = _minus_zeros(flat, kind)
    return TensorProfile(name, tuple(array.shape), kind, array.nbytes, density, minus, tuple(fits))


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
        int(np.count_nonzero(bits[start : start + CHUNK_WORDS] == sign))
        for start in range(0, len(bits), CHUNK_WORDS)
    )
