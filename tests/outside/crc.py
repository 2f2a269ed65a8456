"""CRC-32C, as ``docs/options/crc.md`` names it: bit by bit, from its polynomial."""

from __future__ import annotations


def crc32c(data: bytes) -> int:
    """The CRC of bytes, the lowest bit of each first."""
    # 0x1EDC6F41 with its bits in reverse.
    polynomial = int(f"{0x1EDC6F41:032b}"[::-1], 2)
    remainder = 0xFFFFFFFF
    for byte in data:
        for bit in range(8):
            feedback = (remainder ^ byte >> bit) & 1
            remainder = remainder >> 1 ^ (polynomial if feedback else 0)
    return remainder ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283
