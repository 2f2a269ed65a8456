"""The test plan of the codec: each test's stimulus and what it checks, in one line each.

``cdma.verif.codec.tests`` has one cocotb test of each name.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CODEC_PLAN", "TestPoint"]

_BOTH = ("compressor", "decompressor")


@dataclass(frozen=True)
class TestPoint:
    """One test: its name, the blocks it is for, and what it is about."""

    name: str
    statement: str
    blocks: tuple[str, ...] = _BOTH
    #: Runs several times from different random start values, which must not show.
    starts: int = 1
    #: Roughly how long it takes, compared with the others.
    weight: int = 1

    __test__ = False  # not for pytest


CODEC_PLAN = (
    TestPoint("lengths", "every length next to a lane or window boundary: empty, half full and dense"),
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
        blocks=("decompressor",),
        weight=6,
    ),
    TestPoint("start", "random start values of registers never show, on any cycle", starts=3, weight=4),
    TestPoint("interop", "cocotbext-axi's own sources and sinks, with pauses"),
)
