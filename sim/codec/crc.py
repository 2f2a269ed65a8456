"""CRC-32C (Castagnoli), as in iSCSI: what an engine with a CRC computes of the raw bytes of a transfer."""

from __future__ import annotations

__all__ = ["POLYNOMIAL", "TABLE", "crc32c"]

#: The polynomial 0x1EDC6F41, reflected: the lowest bit is the highest power of x.
POLYNOMIAL = 0x82F63B78


def _of_byte(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


#: The remainder of each byte.
TABLE = tuple(map(_of_byte, range(256)))


def crc32c(data: bytes | bytearray | memoryview, crc: int = 0) -> int:
    """Returns the CRC of ``data`` that follow bytes whose CRC is ``crc``: 0 of no bytes, 0xE3069283 of ``b"123456789"``."""
    crc ^= 0xFFFFFFFF
    table = TABLE
    for byte in memoryview(data).cast("B"):
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF
