"""Numbers to integers within an error bound, and back: the specification, which hardware equals bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import ParameterError
from cdma.hdl.spec.stage import Quantisation


@dataclass(frozen=True)
class Quantised:
    """The integers of a tensor, and the numbers that are not within the bound.

    ``integers``: One for each number, in the order of memory, as signed integers of 8 or 16 bits. Those of 4 bits come
        in 8.
    ``reported``: How many numbers are NaN, infinite or too large.
    ``first``: The index of the first of them; 0 if there is none.
    """

    integers: NDArray[Any]
    reported: int
    first: int


def _numbers(words: NDArray[Any], form: Quantisation) -> NDArray[np.int64]:
    bits = form.number_type.bits
    words = np.asarray(words)
    if words.dtype != np.dtype(f"u{bits // 8}"):
        raise ParameterError(
            f"the numbers have the type {words.dtype}; they must be the bits of {form.number}, of type uint{bits}"
        )
    return words.ravel().astype(np.int64)


def quantise(words: NDArray[Any], exponent: int, form: Quantisation) -> Quantised:
    """The integers nearest to the numbers in steps of ``2**exponent``; of two as near, the even one.

    ``words`` are the bits of the numbers. A number whose integer would be greater than the limit becomes the limit, of its
    sign, and is reported; so is an infinite one. NaN becomes 0 and is reported.
    """
    form.check_exponent(exponent)
    number = form.number_type
    numbers = _numbers(words, form)
    fraction = numbers & ((1 << number.fraction_bits) - 1)
    stored = numbers >> number.fraction_bits & ((1 << number.exponent_bits) - 1)
    negative = numbers >> (number.bits - 1) != 0
    special = stored == (1 << number.exponent_bits) - 1
    nan = special & (fraction != 0)
    # The number is significand * 2**(place - fraction_bits) steps. Its integer is 0 below -1, and beyond the limit from
    # bits - 1 on; a subnormal number is less than one step, because a step is none.
    significand = fraction + ((stored != 0).astype(np.int64) << number.fraction_bits)
    place = np.maximum(stored, 1) - number.bias - exponent
    right = number.fraction_bits - np.clip(place, -2, form.bits - 2)
    whole = significand >> right
    rest = significand - (whole << right)
    half = np.int64(1) << (right - 1)
    magnitude = whole + ((rest > half) | ((rest == half) & (whole & 1 != 0)))
    if form.keep_nonzero:
        magnitude = np.where((magnitude == 0) & (significand != 0), 1, magnitude)
    reported = special | (place >= form.bits - 1) | (magnitude > form.limit)
    magnitude = np.where(nan, 0, np.where(reported, form.limit, magnitude))
    kind = np.int16 if form.bits == 16 else np.int8
    integers = np.where(negative, -magnitude, magnitude).astype(kind)
    where = np.flatnonzero(reported)
    return Quantised(integers, len(where), int(where[0]) if len(where) else 0)


def dequantise(integers: NDArray[Any], exponent: int, form: Quantisation) -> NDArray[Any]:
    """The bits of the numbers ``integers * 2**exponent``, all of which are exact."""
    form.check_exponent(exponent)
    number = form.number_type
    values = np.asarray(integers).ravel().astype(np.int64)
    least = -form.limit - 1
    if len(values) and not (values.min() >= least and values.max() <= form.limit):
        raise ParameterError(
            f"the integers reach from {values.min()} to {values.max()}; integers of {form.bits} bits are "
            f"{least} to {form.limit}"
        )
    magnitude = np.abs(values)
    top = np.frexp(magnitude.astype(np.float64))[1].astype(np.int64) - 1
    zero = magnitude == 0
    stored = np.where(zero, 0, top + exponent + number.bias)
    # Without its leading one, at the top of the fraction.
    fraction = np.where(
        zero,
        0,
        (magnitude << (number.fraction_bits - np.maximum(top, 0))) & ((1 << number.fraction_bits) - 1),
    )
    sign = (values < 0).astype(np.int64) << (number.bits - 1)
    return (sign + (stored << number.fraction_bits) + fraction).astype(f"u{number.bits // 8}")
