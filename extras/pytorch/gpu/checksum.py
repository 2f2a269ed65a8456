"""CRC-32C of words on a card: the one of :mod:`cdma.sim.codec.crc`."""

from __future__ import annotations

from functools import cache, lru_cache

import torch
from torch import Tensor

from cdma.sim.codec.crc import POLYNOMIAL, TABLE

from .checksum_kernel import crc_kernel
from .tensors import current

__all__ = ["checksum"]

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
                words,
                *_tables(words.device),
                total,
                words.numel(),
                programs,
                WORD=words.element_size(),
                ROW=_ROW_BYTES // words.element_size(),
                ROWS=_ROWS,
            )
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
