"""A compressor or a decompressor as a design under test."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from cdma.hdl.spec.codec import CodecConfig
from cdma.verif.simulator.plan import TestPlan
from cdma.verif.stream.packet import StreamDesign, Streams

#: The fields of a report.
REPORT = ("words in", "words out", "literals", "error")


@dataclass(frozen=True)
class CodecDesign(StreamDesign):
    """A compressor or a decompressor as ``cdma generate`` writes it."""

    block: str
    config: CodecConfig = CodecConfig()
    init: bool = True

    @property
    def decompresses(self) -> bool:
        """Whether it makes raw words of a stream."""
        return self.block == "decompressor"

    @property
    def bits_in(self) -> int:
        """Bits of a word that comes in."""
        form = self.config.format
        return form.stream_bits if self.decompresses else form.word_bits

    @property
    def streams(self) -> Streams:
        form = self.config.format
        bits = form.word_bits if self.decompresses else form.stream_bits
        return Streams(
            bits,
            self.config.data_bits // bits,
            REPORT,
            length=self.decompresses,
            may_be_empty=self.decompresses,
        )

    @property
    def summary(self) -> str:
        return self.config.summary()

    def with_values(self, values: Sequence[int]) -> CodecConfig:
        """The parameters with another table, for a table that comes in at run time."""
        return dataclasses.replace(self.config, format=self.config.format.with_table(values))


CODEC_PLAN = TestPlan(
    package="cdma.verif.stream.codec.tests",
    names=("packets", "timing", "damage"),
    unit="packets",
    budget=2000,
)
