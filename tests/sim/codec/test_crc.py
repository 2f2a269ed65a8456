"""CRC-32C in software, against the published vectors."""

from __future__ import annotations

import random

import pytest

from cdma.sim.codec.crc import crc32c


@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        # RFC 3720, appendix B.4, whose bytes are in the order of memory.
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
    ],
)
def test_known_vectors_whole_and_in_parts(data: bytes, crc: int) -> None:
    cut = random.Random(2).randrange(len(data) + 1)
    assert crc32c(data) == crc32c(data[cut:], crc32c(data[:cut])) == crc
