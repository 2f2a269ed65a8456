"""A compressor or a decompressor as a design under test. The test plan of the codec: each test's stimulus and what it
checks, in a line each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from cdma.hdl.spec.codec import CodecConfig
from cdma.verif.simulator.plan import TestPlan, TestPoint
from cdma.verif.simulator.simulate import Design
from cdma.verif.stream.packet import StreamDesign, Streams

__all__ = ["CODEC_PLAN", "REPORT", "CodecDesign"]

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


def _decompressor(design: Design) -> bool:
    """decompressors"""
    return design.block == "decompressor"


_POINTS = (
    TestPoint(
        "lengths",
        "every length next to a lane or window boundary, empty, half full and dense",
        "every word, keep, last and report",
    ),
    TestPoint(
        "endings",
        "each fill of the last beat before a dense last window of each short length",
        "every word, keep, last and report",
    ),
    TestPoint(
        "soak",
        "random packets, lengths and tables under random pauses on every stream",
        "every word, keep, last and report",
        weight=12,
    ),
    TestPoint(
        "bound",
        "densities, clusters, alternating windows, adversarial and random periods, windows short of dense",
        "every packet within the work-conserving bound",
        weight=5,
    ),
    TestPoint(
        "back_to_back",
        "packets without a gap, packets of one word included",
        "each costs at most the additional cycles of the contract",
        weight=3,
    ),
    TestPoint("latency", "dense windows", "the first beat comes out within the limits of the contract"),
    TestPoint(
        "patience",
        "sinks that wait for valid, long stalls on each stream in turn, late lengths and reports",
        "valid does not wait for ready; nothing hangs or is lost",
    ),
    TestPoint("reset", "reset in mid-packet at any moment", "the next packet is whole", weight=3),
    TestPoint(
        "malformed",
        "holes and cut words in each lane, empty beats, early partial beats",
        "error 4; the next packet is unharmed",
        weight=2,
    ),
    TestPoint(
        "corrupt",
        "streams cut short or prolonged, undefined codes, flipped bits, garbage, wrong and zero lengths",
        "error 1, 2 or 3; the next packet is unharmed",
        _decompressor,
        weight=6,
    ),
    TestPoint(
        "start",
        "the same traffic from several random start values of the registers",
        "no output differs on any cycle",
        starts=3,
        weight=4,
    ),
    TestPoint(
        "interop",
        "cocotbext-axi's own sources and sinks, with pauses",
        "every word, keep, last and report",
    ),
)

CODEC_PLAN = TestPlan(
    modules=tuple(
        f"cdma.verif.stream.codec.tests.{name}" for name in ("packets", "timing", "patience", "damage")
    ),
    points=_POINTS,
    unit="packets",
    budget=2000,
)
