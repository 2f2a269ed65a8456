"""The letters of timing diagrams."""

from __future__ import annotations

from cdma import CodecConfig, Format
from cdma.verif.stream.codec.design import CodecDesign
from cdma.verif.stream.codec.stimulus import Speller


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


def test_spelling_of_fields_and_padding() -> None:
    form = Format(16, 8, 3, (127,), field_bits=8, rotate=1, zero=True, align=4)
    speller = Speller(CodecDesign("compressor", CodecConfig(form, 4)), raw=False)
    # A header of three bytes: a zero word, one with a frequent exponent, one literal, zero words. Then its three bytes, and
    # two of padding.
    data = (1 << 3 | 7 << 6) | 0xAB << 24 | 0xCDEF << 32
    assert speller.beat(data, (1 << 8) - 1, True) == "HHHLLLPP"
