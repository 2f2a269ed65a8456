"""The test plan of the codec: each test's stimulus and what it checks, in one line each."""

from __future__ import annotations

from cdma.verif.simulator.design import Design
from cdma.verif.simulator.plan import TestPlan, TestPoint

__all__ = ["CODEC_PLAN"]


def _decompressor(design: Design) -> bool:
    return design.block == "decompressor"


_POINTS = (
    TestPoint("lengths", "every length next to a lane or window boundary: empty, half full and dense"),
    TestPoint("endings", "each fill of the last beat before a dense last window of each short length"),
    TestPoint("soak", "random packets, lengths and tables under random pauses on every stream", weight=12),
    TestPoint(
        "bound", "every packet within the work-conserving bound, adversarial fill levels included", weight=5
    ),
    TestPoint(
        "back_to_back",
        "packets without a gap cost at most one more cycle each, one-word packets included",
        weight=3,
    ),
    TestPoint("latency", "the first beat of a dense window comes out in time"),
    TestPoint("patience", "valid does not wait for ready; long stalls on each stream in turn lose nothing"),
    TestPoint("reset", "reset in mid-packet at any moment; the next packet is whole", weight=3),
    TestPoint(
        "malformed", "beats with holes, cut words, no words or too few; the next packet is unharmed", weight=2
    ),
    TestPoint(
        "corrupt",
        "truncated, trailing, undefined codes, garbage, no length; the next packet is unharmed",
        _decompressor,
        weight=6,
    ),
    TestPoint("start", "random start values of registers never show, on any cycle", starts=3, weight=4),
    TestPoint("interop", "cocotbext-axi's own sources and sinks, with pauses"),
)

CODEC_PLAN = TestPlan(
    modules=tuple(f"cdma.verif.codec.tests.{name}" for name in ("packets", "timing", "patience", "damage")),
    points=_POINTS,
    unit="packets",
    budget=2000,
)
