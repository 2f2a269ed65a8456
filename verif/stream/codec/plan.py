"""The test plan of the codec: each test's stimulus and what it checks, in a line each."""

from __future__ import annotations

from cdma.verif.simulator.design import Design
from cdma.verif.simulator.plan import TestPlan, TestPoint

__all__ = ["CODEC_PLAN"]


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
