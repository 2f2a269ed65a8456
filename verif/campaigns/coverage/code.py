"""Code coverage of a regression: the Verilog with the counts of each line, and what each block misses."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.spec.stage import STAGES
from cdma.verif.campaigns.regression import COUNTS_SUFFIX, SAMPLES_SUFFIX, Regression, verify
from cdma.verif.simulator.simulate import Design, Outcome

from .engine_goals import ENGINE_GOALS
from .exclusions import BRANCH, EXCLUSIONS, LINE, TOGGLE, Exclusion, Point, marked, match, merge_points
from .goals import STAGE_GOALS, Goal, Reached, evaluate, read_samples
from .shape_goals import CODEC_GOALS


def annotate(coverage: CodeCoverage, directory: Path) -> Path:
    """Writes ``coverage.txt`` into a directory, and returns its path.

    A line begins with its count; ``-`` marks one that did not run, ``x`` one that is excluded. Below it are the
    branches that were not taken and the bits that did not rise or fall.
    """
    directory.mkdir(parents=True, exist_ok=True)
    text = directory / "coverage.txt"
    text.write_text("".join(f"{row}\n" for row in _rows(coverage)))
    return text


def _rows(coverage: CodeCoverage) -> Iterator[str]:
    counts: dict[int, int] = {}
    open_lines = set()
    for (_, line), (count, excluded) in coverage.lines().items():
        counts[line] = max(counts.get(line, 0), count)
        if not excluded:
            open_lines.add(line)
    notes: dict[int, list[Point]] = defaultdict(list)
    for point, count in coverage.points.items():
        if point.kind == BRANCH and point.what.startswith("cond"):
            # What the condition of an expression came to shows that its line was reached.
            counts[point.line] = max(counts.get(point.line, 0), count)
            if point not in coverage.excluded:
                open_lines.add(point.line)
        if not count and point.kind != LINE:
            notes[point.line].append(point)
    for number, text in enumerate(coverage.text, 1):
        count = counts.get(number, 0)
        mark = "" if number not in counts else str(count) if count else "-" if number in open_lines else "x"
        yield f"{mark:>9} {number:>6}  {text}"
        below = sorted(notes[number], key=lambda point: (point.column, point.what))
        for point in below:
            if point.kind == BRANCH:
                exclusion = coverage.excluded.get(point)
                why = f"excluded: {exclusion.reason}" if exclusion is not None else "never"
                yield f"{'':>18}{' ' * (point.column - 1)}^ {point.what}: {why}"
        still = [point.what for point in below if point.kind == TOGGLE]
        if still:
            more = f" and {len(still) - 8} more" if len(still) > 8 else ""
            yield f"{'':>18}never: {', '.join(still[:8])}{more}"


@dataclass(frozen=True)
class Coverage:
    """The coverage of a regression, which may have failed.

    ``code``, ``reached``: That of the Verilog, and of each functional goal.
    ``goal``: The percentage of lines, and of branches, that it must reach.
    """

    regression: Regression
    code: CodeCoverage
    reached: Sequence[Reached]
    goal: float

    @property
    def failures(self) -> list[str]:
        """The goals that are missed, in sentences."""
        failed = [outcome for outcome in self.regression.outcomes if outcome.failure is not None]
        found = [f"the test {outcome.test} failed: {outcome.failure}" for outcome in failed]
        whole = self.code.total()
        for kind in ("lines", "branches"):
            if whole.shares[kind].percent < self.goal:
                found.append(f"{whole.shares[kind].percent:.2f} % of {kind}, less than {self.goal:g} %")
        for each in self.reached:
            if each.holes:
                found.append(f"the goal {each.goal.name} misses {'; '.join(each.holes)}")
        found += [f"an exclusion matches nothing: {_described(each)}" for each in self.code.unused]
        found += [f"an exclusion matches what is reached: {_described(each)}" for each in self.code.wrong]
        return found

    @property
    def passed(self) -> bool:
        return self.regression.passed and not self.failures

    def to_dict(self) -> dict[str, Any]:
        return {
            "design": str(self.regression.design),
            "seed": self.regression.seed,
            "packets": self.regression.packets,
            "tests": [outcome.test for outcome in self.regression.outcomes],
            "passed": self.passed,
            "failures": self.failures,
            "goal": self.goal,
            "code": self.code.to_dict(),
            "goals": [each.to_dict() for each in self.reached],
        }


def goals_of(design: Design) -> Sequence[Goal]:
    if design.block in BLOCKS:
        return CODEC_GOALS
    return STAGE_GOALS if design.block in STAGES else ENGINE_GOALS


def collect(
    design: Design,
    *,
    tests: Sequence[str] | None = None,
    seed: int = 1,
    packets: int | None = None,
    jobs: int = 1,
    goal: float = 100.0,
    report: Callable[[Outcome], None] | None = None,
) -> Coverage:
    """Runs the regression, or some of its ``tests``, as :func:`.verify` does, and collects its coverage. ``goal`` is the
    percentage of lines and of branches to reach."""
    text = design.verilog()
    with tempfile.TemporaryDirectory(prefix="cdma-") as directory:
        folder = Path(directory)
        regression = verify(
            design, tests=tests, seed=seed, packets=packets, jobs=jobs, coverage=folder, report=report
        )
        points = merge_points(sorted(folder.glob(f"*{COUNTS_SUFFIX}")))
        samples = read_samples(sorted(folder.glob(f"*{SAMPLES_SUFFIX}")))
    applied = [each for each in EXCLUSIONS if each.needs(design)]
    return Coverage(
        regression,
        code_coverage(text, points, applied),
        evaluate(goals_of(design), samples, design),
        goal,
    )


def _described(exclusion: Exclusion) -> str:
    return f"{exclusion.block}, {exclusion.text!r} ({exclusion.reason})"


#: The columns of the table, in this order.
KINDS = ("lines", "branches", "toggles")


@dataclass
class Share:
    """The points that were reached, and that are excluded."""

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

    ``text``: The Verilog, by lines.
    ``points``: All points and their counts.
    ``excluded``: The excluded points, each with its exclusion.
    ``unused``, ``wrong``: The exclusions that match nothing, and those that match a point which was reached.
    """

    text: Sequence[str]
    points: Mapping[Point, int]
    excluded: Mapping[Point, Exclusion]
    unused: Sequence[Exclusion]
    wrong: Sequence[Exclusion]

    def lines(self) -> dict[tuple[str, int], tuple[int, bool]]:
        """By block and line with a statement: its count, and whether it is excluded."""
        found: dict[tuple[str, int], tuple[int, bool]] = {}
        for point, count in self.points.items():
            for line in point.statements:
                before, excluded = found.get((point.block, line), (0, True))
                found[point.block, line] = max(before, count), excluded and point in self.excluded
        return found

    def blocks(self) -> list[BlockCoverage]:
        """All blocks that have points, by name."""
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
        whole = BlockCoverage("all")
        for row in self.blocks():
            for kind in KINDS:
                whole.shares[kind] += row.shares[kind]
        return whole

    def missing(self) -> list[Point]:
        """The statements and branches that were not reached and are not excluded, in the order of the Verilog."""
        points = (
            point
            for point, count in self.points.items()
            if point.kind in (LINE, BRANCH) and not count and point not in self.excluded
        )
        return sorted(points, key=lambda point: (point.line, point.column))

    def describe(self, point: Point) -> str:
        return f"{point.block}, line {point.line}: {marked(point, self.text[point.line - 1])}"

    def to_dict(self) -> dict[str, Any]:
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
