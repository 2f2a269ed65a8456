"""What of the Verilog a regression reached: per block, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .exclusions import Exclusion, marked, match
from .points import BRANCH, LINE, TOGGLE, Point

__all__ = ["KINDS", "BlockCoverage", "CodeCoverage", "Share", "code_coverage"]

#: The columns of the table, in this order.
KINDS = ("lines", "branches", "toggles")


@dataclass
class Share:
    """How many of some points were reached, and how many are excluded."""

    hit: int = 0
    total: int = 0
    excluded: int = 0

    def add(self, count: int, excluded: bool) -> None:
        """Counts a point that was reached ``count`` times; one that was not may be excluded."""
        self.total += 1
        self.hit += count > 0
        self.excluded += count == 0 and excluded

    def __add__(self, other: Share) -> Share:
        return Share(self.hit + other.hit, self.total + other.total, self.excluded + other.excluded)

    @property
    def percent(self) -> float:
        """Of the points that are not excluded."""
        wanted = self.total - self.excluded
        return 100 * self.hit / wanted if wanted else 100.0


@dataclass
class BlockCoverage:
    """The shares of one block, by the names of :data:`KINDS`."""

    block: str
    shares: dict[str, Share] = field(default_factory=lambda: {kind: Share() for kind in KINDS})


@dataclass(frozen=True)
class CodeCoverage:
    """The coverage of one design's Verilog.

    ``text``
        Is the Verilog, by lines.
    ``points``
        Has all points and their counts.
    ``excluded``
        Has the points that are excluded, each with what excludes it.
    ``unused``, ``wrong``
        Are the exclusions that match nothing, and those that match a point which was reached.
    """

    text: Sequence[str]
    points: Mapping[Point, int]
    excluded: Mapping[Point, Exclusion]
    unused: Sequence[Exclusion]
    wrong: Sequence[Exclusion]

    def lines(self) -> dict[tuple[str, int], tuple[int, bool]]:
        """Per block and line with a statement, how often it ran, and whether it is excluded."""
        found: dict[tuple[str, int], tuple[int, bool]] = {}
        for point, count in self.points.items():
            for line in point.statements:
                before, excluded = found.get((point.block, line), (0, True))
                found[point.block, line] = max(before, count), excluded and point in self.excluded
        return found

    def blocks(self) -> list[BlockCoverage]:
        """The table: all blocks that have points, by name."""
        rows: dict[str, BlockCoverage] = {}
        for point, count in self.points.items():
            row = rows.setdefault(point.block, BlockCoverage(point.block))
            kind = {BRANCH: "branches", TOGGLE: "toggles"}.get(point.kind)
            if kind is not None:
                row.shares[kind].add(count, point in self.excluded)
        for (block, _), (count, excluded) in self.lines().items():
            rows[block].shares["lines"].add(count, excluded)
        return [rows[block] for block in sorted(rows)]

    def total(self) -> BlockCoverage:
        """The sum over all blocks."""
        whole = BlockCoverage("all")
        for row in self.blocks():
            for kind in KINDS:
                whole.shares[kind] += row.shares[kind]
        return whole

    def missing(self) -> list[Point]:
        """The statements and branches that were not reached and are not excluded, as they stand in the Verilog."""
        points = (
            point
            for point, count in self.points.items()
            if point.kind in (LINE, BRANCH) and not count and point not in self.excluded
        )
        return sorted(points, key=lambda point: (point.line, point.column))

    def describe(self, point: Point) -> str:
        """Where a point is, and its line."""
        return f"{point.block}, line {point.line}: {marked(point, self.text[point.line - 1])}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = []
        for row in (*self.blocks(), self.total()):
            shares = {
                kind: {
                    "hit": share.hit,
                    "total": share.total,
                    "excluded": share.excluded,
                    "percent": round(share.percent, 2),
                }
                for kind, share in row.shares.items()
            }
            rows.append({"block": row.block, **shares})
        reasons = Counter((each.reason, each.proof) for each in self.excluded.values())
        return {
            "blocks": rows[:-1],
            "all": rows[-1],
            "missing": [self.describe(point) for point in self.missing()],
            "excluded": [
                {"points": count, "reason": reason, "proof": proof}
                for (reason, proof), count in reasons.items()
            ],
            "unused exclusions": [each.reason for each in self.unused],
            "wrong exclusions": [each.reason for each in self.wrong],
        }


def code_coverage(
    verilog: str, points: Mapping[Point, int], exclusions: Sequence[Exclusion] = ()
) -> CodeCoverage:
    """The coverage that counted ``points`` of ``verilog`` make, less those that are excluded."""
    text = verilog.splitlines()
    matched = match(exclusions, points, text)
    return CodeCoverage(
        text,
        points,
        {point: each for each, found in matched.items() for point in found},
        [each for each, found in matched.items() if not found],
        [each for each, found in matched.items() if any(points[point] for point in found)],
    )
