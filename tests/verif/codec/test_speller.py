"""The letters of timing diagrams."""

from __future__ import annotations

from cdma import CodecConfig, Format
from cdma.verif.codec.design import CodecDesign
from cdma.verif.codec.speller import Speller


def test_spelling() -> None:
    design = CodecDesign("compressor")
    stream = Speller(design, raw=False)
    # Header with three literals, these, then the header of an empty window.
    data = 0b111 | 9 << 32 | 8 << 64 | 7 << 96 | 0 << 128
    assert stream.beat(data, (1 << 20) - 1, True) == "HLLLH---"
    raw = Speller(design, raw=True)
    assert raw.beat(1 | 1 << 96, (1 << 32) - 1, False) == "L..L...."
    wide = Speller(CodecDesign("compressor", CodecConfig(Format(8), 32)), raw=True)
    assert wide.beat(0x010001, (1 << 32) - 1, False) == "2L 30."
