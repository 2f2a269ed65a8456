"""CRC-32C (Castagnoli) as linear functions: what so many bits make of a register, and how to take zeros back."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.lib.crc.catalog import CRC32_ISCSI

__all__ = ["CRC_BITS", "CRC_INIT", "CRC_XOR", "after_bits", "after_zeros", "before_zeros"]

#: Bits of a CRC.
CRC_BITS = CRC32_ISCSI.crc_width
#: The register before the first byte, and what is added to the register after the last one.
CRC_INIT = CRC32_ISCSI.initial_crc
CRC_XOR = CRC32_ISCSI.xor_output

#: Data and register are reflected: bit 0 comes first, and it is the highest power of x.
_POLYNOMIAL = int(f"{CRC32_ISCSI.polynomial:0{CRC_BITS}b}"[::-1], 2)
_HIGHEST = 1 << CRC_BITS - 1

assert CRC32_ISCSI.reflect_input
assert CRC32_ISCSI.reflect_output


def _after_zero(register: int) -> int:
    return register >> 1 ^ (_POLYNOMIAL if register & 1 else 0)


def _before_zero(register: int) -> int:
    return (register ^ _POLYNOMIAL) << 1 | 1 if register & _HIGHEST else register << 1


def after_bits(count: int) -> list[int]:
    """What each of the next ``count`` bits adds to the register after all of them, in the order in which they come."""
    sums = [_POLYNOMIAL]
    while len(sums) < count:
        sums.append(_after_zero(sums[-1]))
    return sums[::-1]


def after_zeros(count: int) -> list[int]:
    """What each bit of the register adds to the register that it is ``count`` bits of zeros later."""
    return _repeated(_after_zero, count)


def before_zeros(count: int) -> list[int]:
    """What each bit of the register adds to the register that it was ``count`` bits of zeros before."""
    return _repeated(_before_zero, count)


def _repeated(step: Callable[[int], int], count: int) -> list[int]:
    columns = [1 << bit for bit in range(CRC_BITS)]
    for _ in range(count):
        columns = list(map(step, columns))
    return columns
