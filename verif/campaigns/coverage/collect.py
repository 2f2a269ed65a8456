"""The regression on one design, built to count: what it covers of the Verilog, and which goals it meets."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdma.hdl.spec.codecs import BLOCKS
from cdma.hdl.spec.stage import STAGES
from cdma.verif.regression import COUNTS_SUFFIX, SAMPLES_SUFFIX, Regression, verify
from cdma.verif.simulator.design import Design
from cdma.verif.simulator.simulate import Outcome

from .code import CodeCoverage, code_coverage
from .codec_goals import CODEC_GOALS
from .engine_goals import ENGINE_GOALS
from .exclusions import EXCLUSIONS, Exclusion
from .goals import Goal, Reached, evaluate, read_samples
from .points import merge_points
from .stage_goals import STAGE_GOALS

__all__ = ["Coverage", "collect", "goals_of"]


@dataclass(frozen=True)
class Coverage:
    """What a regression covered.

    ``regression``
        Is the regression itself, which may have failed.
    ``code``, ``reached``
        Are what it reached of the Verilog, and of each functional goal.
    ``goal``
        Is the percentage of lines, and of branches, that it must reach.
    """

    regression: Regression
    code: CodeCoverage
    reached: Sequence[Reached]
    goal: float

    @property
    def failures(self) -> list[str]:
        """What is short of its goal, in sentences; none if all goals are met."""
        failed = [outcome for outcome in self.regression.outcomes if outcome.failure is not None]
        said = [f"the test {outcome.test} failed: {outcome.failure}" for outcome in failed]
        whole = self.code.total()
        for kind in ("lines", "branches"):
            if whole.shares[kind].percent < self.goal:
                said.append(f"{whole.shares[kind].percent:.2f} % of {kind}, less than {self.goal:g} %")
        for each in self.reached:
            if each.holes:
                said.append(f"the goal {each.goal.name} misses {'; '.join(each.holes)}")
        said += [f"an exclusion matches nothing: {_say(each)}" for each in self.code.unused]
        said += [f"an exclusion matches what is reached: {_say(each)}" for each in self.code.wrong]
        return said

    @property
    def passed(self) -> bool:
        """Whether the regression passed, and met all goals."""
        return self.regression.passed and not self.failures

    def to_dict(self) -> dict[str, Any]:
        """For JSON and for certificates."""
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
    """The functional goals of a codec, of an error-bounded stage or of an engine."""
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
    exclusions: Sequence[Exclusion] = EXCLUSIONS,
    goals: Sequence[Goal] | None = None,
    report: Callable[[Outcome], None] | None = None,
) -> Coverage:
    """Runs the regression, or some of its ``tests``, as :func:`.verify` does, and collects what it covers.

    ``goal`` is the percentage of lines and of branches to reach. ``exclusions`` and ``goals`` are the project's own.
    """
    text = design.verilog()
    with tempfile.TemporaryDirectory(prefix="cdma-") as directory:
        folder = Path(directory)
        regression = verify(
            design, tests=tests, seed=seed, packets=packets, jobs=jobs, coverage=folder, report=report
        )
        points = merge_points(sorted(folder.glob(f"*{COUNTS_SUFFIX}")))
        samples = read_samples(sorted(folder.glob(f"*{SAMPLES_SUFFIX}")))
    applied = [each for each in exclusions if each.needs(design)]
    return Coverage(
        regression,
        code_coverage(text, points, applied),
        evaluate(goals_of(design) if goals is None else goals, samples, design),
        goal,
    )


def _say(exclusion: Exclusion) -> str:
    return f"{exclusion.block}, {exclusion.text!r} ({exclusion.reason})"
