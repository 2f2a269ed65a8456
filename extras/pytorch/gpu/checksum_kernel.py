"""CRC-32C as a sum: what every stretch of bytes adds to it depends on how many follow, and not on what they are."""

from __future__ import annotations

import triton
import triton.language as tl

from cdma.sim.codec.crc import POLYNOMIAL

__all__ = ["crc_kernel", "times"]

_POLYNOMIAL = tl.constexpr(POLYNOMIAL)


@triton.jit
def times(left, right):
    """The products of polynomials modulo that of the CRC; the highest bit is the lowest power."""
    product = left ^ left
    for bit in tl.static_range(32):
        product = product ^ tl.where((left >> (31 - bit)) & 1 != 0, right, 0)
        right = (right >> 1) ^ tl.where(right & 1 != 0, _POLYNOMIAL, 0).to(tl.uint32)
    return product


@triton.jit
def crc_kernel(
    words,
    octet_table,
    row_powers,
    powers,
    sum,
    count,
    programs,
    WORD: tl.constexpr,
    ROW: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Adds to ``sum`` the CRC of every program's stretch of words, moved to its place.

    Stretches end where the data do, so that the first one may lack words at its begin: zeros there add nothing. A row of
    ``ROW`` words is a chain in a lane. ``row_powers`` move a row behind the program's others, and ``powers`` are three
    tables by the bits of the number of programs that follow, eight at a time.
    """
    later = programs - 1 - tl.program_id(0)
    row = tl.arange(0, ROWS)
    begin = count - (later.to(tl.int64) + 1) * (ROWS * ROW) + row * ROW
    crc = tl.zeros([ROWS], tl.uint32)
    for place in range(ROW):
        word = tl.load(words + begin + place, mask=begin + place >= 0, other=0).to(tl.uint32)
        for octet in tl.static_range(WORD):
            crc = tl.load(octet_table + ((crc ^ (word >> (8 * octet))) & 255)) ^ (crc >> 8)
    moved = times(crc, tl.load(row_powers + row))
    total = tl.xor_sum(moved, axis=0)
    for table in tl.static_range(3):
        power = tl.load(powers + 256 * table + ((later >> (8 * table)) & 255))
        total = times(total, power)
    tl.atomic_xor(sum, total.to(tl.int32, bitcast=True))
