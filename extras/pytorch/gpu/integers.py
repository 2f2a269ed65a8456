"""Numbers as integers of 8 bits and back, within the kernels: bit for bit those of the hardware's error-bounded stage.

A number is scaled by a power of two, so that its integer is the nearest one. That is exact, but where it becomes so small
that it rounds to zero either way.
"""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["FOUND", "integers_of", "numbers_of", "said"]

#: Numbers of 64 bits of what is found; see :func:`said`.
FOUND = 4
#: Numbers near it have steps of 1, and the lowest bits of such a number are those of an integer.
_NEAR = tl.constexpr(1.5 * (1 << 23))


@triton.jit
def integers_of(number, scale, KEEP: tl.constexpr):
    """The integers as words, the scaled numbers, and what integers differ from these by.

    If ``KEEP``, what is not zero does not become zero.
    """
    if number.dtype == tl.bfloat16:
        # The upper half of the bits; the interpreter's conversion does not know subnormal numbers.
        number = (number.to(tl.uint16, bitcast=True).to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    number = number.to(tl.float32)
    steps = number * scale
    near = steps + _NEAR
    if KEEP:
        lost = (near == _NEAR) & (number != 0)
        near = tl.where(lost, tl.where(number < 0, _NEAR - 1, _NEAR + 1), near)
    return near.to(tl.uint32, bitcast=True) & 0xFF, steps, steps - (near - _NEAR)


@triton.jit
def numbers_of(word, scale):
    """The numbers of integers."""
    return word.to(tl.uint8).to(tl.int8, bitcast=True).to(tl.float32) * scale


@triton.jit
def said(found, largest, error, squares, numbers):
    """Adds to what is ``found`` what a block has.

    That is the bits of the largest magnitude, in which NaN is larger than all, and those of the largest error, as 32 bits;
    and the sums of the squares of errors and of numbers, as 64 bits. All are in steps.
    """
    narrow, wide = found.to(tl.pointer_type(tl.int32)), found.to(tl.pointer_type(tl.float64))
    tl.atomic_max(narrow, _most(largest), sem="relaxed")
    tl.atomic_max(narrow + 2, _most(error.to(tl.int32, bitcast=True)), sem="relaxed")
    tl.atomic_add(wide + 2, _sum(squares), sem="relaxed")
    tl.atomic_add(wide + 3, _sum(numbers), sem="relaxed")


@triton.jit
def _most(tile):
    return tl.max(tl.max(tl.max(tile, axis=2), axis=1), axis=0)


@triton.jit
def _sum(tile):
    return tl.sum(tl.sum(tl.sum(tile, axis=2), axis=1), axis=0).to(tl.float64)
