"""The structural floor: the storage and the multiplexers that every codec of a format needs, in any design.

- Storage. Compressing, the header comes before its literals and says how many there are, so a window is held
  until all of it has been seen: ``window * word_bits`` bits. Decompressing, the header is held while its
  window is expanded: ``window * code_bits`` bits. Both hold one output beat, ``lanes * word_bits`` bits:
  literals of several beats meet in it.
- A network that takes any lane to any other: ``log2(lanes)`` levels of ``lanes`` multiplexers, ``word_bits``
  wide.

Each bit is a flip-flop without enable or reset, and each multiplexer a MUX2, both of the library of the measurement.
Comparators, control, counters, enables and the report come on top; in these a design can be good or bad.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.codecs import BLOCKS
from cdma.synth.asic.library.library import Library
from cdma.synth.errors import MeasureError

__all__ = ["Floor", "codec_floor"]


@dataclass(frozen=True)
class Floor:
    """The least that a block can have: stored bits, two-input multiplexers, and the area of both."""

    bits: int
    multiplexers: int
    kge: float

    def as_json(self) -> dict[str, float]:
        return {"bits": self.bits, "multiplexers": self.multiplexers, "kge": round(self.kge, 4)}


def codec_floor(block: str, config: CodecConfig, library: Library) -> Floor:
    """Returns the floor of the ``compressor`` or ``decompressor`` of ``config``."""
    fmt, lanes = config.format, config.lanes
    if block not in BLOCKS:
        raise MeasureError(f"block is {block!r}; a structural floor is known for {' and '.join(BLOCKS)}")
    bits = fmt.held_bits(block) + config.data_bits
    multiplexers = config.data_bits * (lanes.bit_length() - 1)
    # A library without a multiplexer needs three NAND2 and an inverter, which counts as a fourth NAND2 here.
    mux_area = library.mux2.area if library.mux2 is not None else 4 * library.nand2.area
    area = bits * library.flip_flop.area + multiplexers * mux_area
    return Floor(bits, multiplexers, area / library.kge)
