"""Tensors in other number types and layouts, and the integers of an error-bounded stage as words of a codec."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import ParameterError


def words_of(integers: NDArray[Any], bits: int) -> NDArray[Any]:
    """The words of integers of 4, 8 or 16 bits; those of 4 come and go in elements of 8."""
    words = integers.view(f"u{integers.dtype.itemsize}")
    return words & np.uint8(15) if bits == 4 else words


def integers_of(words: NDArray[Any], bits: int) -> NDArray[Any]:
    """The integers of words, with their signs."""
    integers = words.view(f"i{words.dtype.itemsize}")
    return integers << np.int8(4) >> np.int8(4) if bits == 4 else integers


#: The types that :func:`convert` knows. ``int8`` is symmetric, and its zero is 0; ``int8-affine`` has a zero point.
NUMBER_TYPES = ("float32", "float16", "bfloat16", "int8", "int8-affine")

#: The order of the axes of an (images, channels, height, width) tensor in memory; the last one runs fastest.
LAYOUTS = {"NCHW": (0, 1, 2, 3), "NHWC": (0, 2, 3, 1), "CHWN": (1, 2, 3, 0)}


def word_bits_of(number_type: str) -> int:
    """Returns the bits of one element of a number type."""
    if number_type not in NUMBER_TYPES:
        raise ParameterError(f"number type is {number_type!r}; it must be one of {', '.join(NUMBER_TYPES)}")
    return {"float32": 32, "float16": 16, "bfloat16": 16}.get(number_type, 8)


def bfloat16_bits(array: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Returns the bits of the nearest bfloat16 numbers, ties to even; NaN stays NaN."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    rounded = (bits + (np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)))) >> np.uint32(16)
    quiet = bits >> np.uint32(16) | np.uint32(0x40)
    return np.where(np.isnan(array), quiet, rounded).astype(np.uint16)


def quantise(array: NDArray[np.float32], *, affine: bool) -> tuple[NDArray[np.int8], int]:
    """Returns the tensor in 8 bits, with one scale for all of it, and the number that represents zero.

    Symmetric: the largest magnitude becomes 127, and zero becomes 0. Affine: the range from the least value (at most
    0) to the greatest (at least 0) becomes -128 to 127, and zero becomes the zero point. Numbers that are not finite
    are refused, because no scale includes them.
    """
    if not np.isfinite(array).all():
        raise ParameterError("the tensor holds numbers that are not finite, which have no 8-bit scale")
    low, high = (min(float(array.min()), 0.0), max(float(array.max()), 0.0)) if array.size else (0.0, 0.0)
    if affine:
        scale = (high - low) / 255 or 1.0
        zero_point = int(np.clip(np.rint(-128 - low / scale), -128, 127))
        limit = -128
    else:
        scale = max(high, -low) / 127 or 1.0
        zero_point, limit = 0, -127
    steps = np.rint(array.astype(np.float64) / scale) + zero_point
    return np.clip(steps, limit, 127).astype(np.int8), zero_point


def convert(array: NDArray[np.float32], number_type: str) -> NDArray[Any]:
    """Converts a tensor to a number type; bfloat16 is returned as its bits in ``uint16``."""
    word_bits_of(number_type)
    if number_type == "float32":
        return array
    if number_type == "float16":
        with np.errstate(over="ignore", under="ignore"):
            return array.astype(np.float16)
    if number_type == "bfloat16":
        return bfloat16_bits(array)
    return quantise(array, affine=number_type == "int8-affine")[0]


def arrange(array: NDArray[Any], layout: str) -> NDArray[Any]:
    """Returns the tensor, contiguous, in a layout; one without height and width has 1 of each."""
    if layout not in LAYOUTS:
        raise ParameterError(f"layout is {layout!r}; it must be one of {', '.join(LAYOUTS)}")
    if array.ndim not in (2, 4):
        raise ParameterError(
            f"the tensor has the shape {array.shape}; layouts are for (images, channels) and "
            "(images, channels, height, width)"
        )
    return np.ascontiguousarray(
        array.reshape(*array.shape, *(1,) * (4 - array.ndim)).transpose(LAYOUTS[layout])
    )
