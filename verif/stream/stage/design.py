"""A quantiser or a dequantiser as a design under test, and the test plan of both."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.verif.simulator.plan import TestPlan, TestPoint
from cdma.verif.simulator.simulate import Design
from cdma.verif.stream.packet import StreamDesign, Streams

#: The fields of a quantiser's report; a dequantiser has none.
REPORT = ("out of range", "first of them")


@dataclass(frozen=True)
class StageDesign(StreamDesign):
    """A quantiser or a dequantiser as ``cdma generate`` writes it."""

    block: str
    config: StageConfig = StageConfig()
    init: bool = True

    @property
    def quantises(self) -> bool:
        return self.block == STAGES[0]

    @property
    def bits_in(self) -> int:
        form = self.config.form
        return form.number_type.bits if self.quantises else form.bits

    @property
    def bits_out(self) -> int:
        form = self.config.form
        return form.bits if self.quantises else form.number_type.bits

    @property
    def streams(self) -> Streams:
        report = REPORT if self.quantises else ()
        return Streams(self.bits_out, self.config.lanes, report, length=False, may_be_empty=True)

    @property
    def summary(self) -> str:
        form = self.config.form
        between = "to" if self.quantises else "from"
        kept = ", nonzero kept" if form.keep_nonzero else ""
        return f"{self.config.lanes} x {form.number} {between} {form.bits} bits{kept}"

    def _unsaid(self) -> list[str]:
        return []

    def _codec_sources(self) -> list[bytes]:
        return []


def _quantiser(design: Design) -> bool:
    """quantisers"""
    return design.block == STAGES[0]


_BITS = "every bit of every word, keep, last and report"

_POINTS = (
    TestPoint("fills", "every length up to three beats, at the least, a middle and the greatest step", _BITS),
    TestPoint(
        "every",
        "every integer, or every number of 16 bits, at the least, a middle and the greatest step; of fp32 numbers around "
        "each integer of a step and each half of one",
        _BITS,
        weight=8,
    ),
    TestPoint(
        "special",
        "infinities, NaN, subnormal numbers, the largest, and those at and below the limit of the integers, at each place "
        "of a beat, with the least, a middle and the greatest step",
        _BITS,
        _quantiser,
    ),
    TestPoint(
        "beyond",
        "packets of numbers that are all out of range, with each stream held back in turn",
        _BITS,
        _quantiser,
    ),
    TestPoint(
        "traffic",
        "random packets, lengths and steps under random pauses on every stream; the port step is right only in the "
        "cycles of the contract",
        _BITS,
        weight=8,
    ),
    TestPoint(
        "rate",
        "long packets without pauses, back to back",
        "a beat per cycle, for a quantiser a cycle more for each packet, and the latency of the contract",
    ),
    TestPoint(
        "waiting",
        "sinks that wait for valid, long stalls on each stream in turn, late reports",
        "valid does not wait for ready; nothing hangs or is lost",
    ),
    TestPoint("resets", "reset in mid-packet at any moment", "the next packet is whole", weight=2),
    TestPoint(
        "holes",
        "beats with a hole, with a part of a word, without a word",
        "no word is kept; the next packet is unharmed",
    ),
    TestPoint(
        "starts",
        "the same traffic from several random start values of the registers",
        "no output differs on any cycle",
        starts=3,
    ),
)

STAGE_PLAN = TestPlan(
    modules=tuple(f"cdma.verif.stream.stage.tests.{name}" for name in ("words", "waiting")),
    points=_POINTS,
    unit="packets",
    budget=1000,
)
