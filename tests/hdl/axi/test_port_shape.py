"""What follows from the shape of a port."""

from __future__ import annotations

import pytest

from cdma.hdl.axi.port_shape import PortShape


@pytest.mark.parametrize(
    ("realign", "word_bits", "data_bits", "lanes", "aligned"),
    [(False, 32, 256, 8, 32), (True, 32, 256, 8, 4), (False, 8, 64, 8, 8), (True, 8, 64, 8, 1)],
)
def test_lanes_and_alignment(realign: bool, word_bits: int, data_bits: int, lanes: int, aligned: int) -> None:
    shape = PortShape(
        word_bits=word_bits,
        data_bits=data_bits,
        address_bits=40,
        burst=16,
        outstanding=4,
        buffer=64,
        realign=realign,
    )
    assert shape.lanes == lanes
    assert 1 << shape.align_log2 == aligned
    assert 8 << shape.word_log2 == word_bits
    assert 8 << shape.blocks.beat_log2 == data_bits
