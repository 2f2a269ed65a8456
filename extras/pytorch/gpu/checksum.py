"""CRC-32C as a sum: what every stretch of bytes adds to it depends on how many follow, and not on what they are. CRC-32C
of words on a GPU: the one of :mod:`cdma.sim.codec.container`.
"""

from __future__ import annotations

from functools import cache, lru_cache

import torch
import triton
import triton.language as tl
from torch import Tensor

from cdma.sim.codec.container import POLYNOMIAL, TABLE

from .layout import current

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
    words, octet_table, row_powers, powers, sum, count, programs, WORD: tl.constexpr, ROW: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
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


#: Bytes of a lane's row, and lanes of a program.
_ROW_BYTES, _ROWS = 512, 128


def checksum(words: Tensor) -> Tensor:
    """The CRC-32C of the bytes of unsigned words: one 64-bit number where they are."""
    size = words.numel() * words.element_size()
    # What is before the first byte and after the last one depends on the length alone.
    constant = _times(0xFFFFFFFF, _power(8 * size)) ^ 0xFFFFFFFF
    with current(words.device):
        total = torch.zeros((), dtype=torch.int32, device=words.device)
        programs = -(-size // (_ROW_BYTES * _ROWS))
        if programs:
            crc_kernel[(programs,)](
                words, *_tables(words.device), total, words.numel(), programs, WORD=words.element_size(),
                ROW=_ROW_BYTES // words.element_size(), ROWS=_ROWS,
            )  # fmt: skip
        return (total.to(torch.int64) & 0xFFFFFFFF) ^ constant


def _times(left: int, right: int) -> int:
    """The product of two polynomials modulo that of the CRC; the highest bit is the lowest power."""
    product = 0
    for bit in range(31, -1, -1):
        product ^= right if left >> bit & 1 else 0
        right = right >> 1 ^ (POLYNOMIAL if right & 1 else 0)
    return product


@cache
def _power(exponent: int) -> int:
    """The polynomial x to that power."""
    result, square = 1 << 31, 1 << 30
    while exponent:
        if exponent & 1:
            result = _times(result, square)
        square = _times(square, square)
        exponent >>= 1
    return result


def _powers(step: int, count: int) -> list[int]:
    """The powers 0, 1, 2 … of x to the ``step``."""
    powers = [1 << 31]
    while len(powers) < count:
        powers.append(_times(powers[-1], _power(step)))
    return powers


@lru_cache(maxsize=16)
def _tables(device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """What the kernel looks up: by an octet, by a row of a program, and by the programs that follow."""
    row, program = 8 * _ROW_BYTES, 8 * _ROW_BYTES * _ROWS
    powers = [power for table in range(3) for power in _powers(program << 8 * table, 256)]
    lists = TABLE, _powers(row, _ROWS)[::-1], powers
    first, second, third = (
        torch.tensor(each, dtype=torch.int64).to(torch.uint32).to(device) for each in lists
    )
    return first, second, third
