"""CRC-32C in software, against the published vectors and Amaranth's own."""

from __future__ import annotations

import random

import pytest
from amaranth.lib.crc.catalog import CRC32_ISCSI

from cdma.sim.engine.crc import crc32c


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
def test_known_vectors(data, crc):
    assert crc32c(data) == crc


def test_amaranth_agrees():
    data = random.Random(1).randbytes(257)
    assert crc32c(data) == CRC32_ISCSI().compute(data)


def test_parts_follow_each_other():
    data = random.Random(2).randbytes(100)
    assert crc32c(data[37:], crc32c(data[:37])) == crc32c(data)
