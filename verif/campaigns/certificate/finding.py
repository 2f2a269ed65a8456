"""What came of the regression, of proofs, of mutants and of coverage: what does not hold, and what nobody looked at."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdma.verif.blocks import plan_of
from cdma.verif.campaigns.mutation.campaign import SURVIVED, Score, Verdict
from cdma.verif.proofs.result import FAILURES, HOLDS, UNKNOWN
from cdma.verif.regression import Regression, replay_command

from .parts import GOAL, Shown

__all__ = [
    "Finding",
    "coverage_finding",
    "mutants_finding",
    "proofs_finding",
    "regression_finding",
]


@dataclass(frozen=True)
class Finding:
    """What came of a part of the verification.

    ``fails``
        Says what does not hold, a sentence each.
    ``open``
        Says what was not done or not shown, a sentence each.
    ``data``
        Is all of it for JSON.
    """

    fails: Sequence[str]
    open: Sequence[str]
    data: Any


def regression_finding(run: Regression) -> Finding:
    """A test fails with the command that runs it again; those that were left out are open."""
    fails = [
        f"test {outcome.test}: {outcome.failure.splitlines()[0]} "
        f"(again: {replay_command(run.design, outcome.test, run.seed, run.packets)})"
        for outcome in run.outcomes
        if outcome.failure is not None
    ]
    ran = [outcome.test for outcome in run.outcomes]
    left = [point.name for point in plan_of(run.design).choose(run.design) if point.name not in ran]
    return Finding(fails, [f"tests that were left out: {', '.join(left)}"] if left else [], run.to_dict())


def proofs_finding(proofs: Sequence[Shown], long: Sequence[str]) -> Finding:
    """A proof without an answer is open and no failure, and so are the ``long`` ones, which were not run."""
    fails, open = [], []
    for shown in proofs:
        result = shown.result
        said = f"proof {result.property} ({result.config})"
        if result.status == UNKNOWN:
            open.append(f"{said}: {result.detail}")
        elif result.status in FAILURES:
            fails.append(f"{said}: {result.status}, {result.detail}")
    own = {shown.result.property for shown in proofs if shown.own}
    others = [shown.result.property for shown in proofs if not shown.own and shown.result.status in HOLDS]
    small = [name for name in dict.fromkeys(others) if name not in own]
    if small:
        open.append(f"proven in other, mostly smaller configurations alone: {', '.join(small)}")
    if long:
        open.append(f"proofs that take long and were not run: {', '.join(long)}")
    data = [{"own_configuration": each.own, **dataclasses.asdict(each.result)} for each in proofs]
    return Finding(fails, open, data)


def mutants_finding(verdicts: Sequence[Verdict], counted: Sequence[Score]) -> Finding:
    """Fewer found than the goal fails; each that survived is open. ``counted`` are the scores, last that of the block."""
    *modules, whole = counted
    score = 100 * whole.score
    survivors = [verdict for verdict in verdicts if verdict.result == SURVIVED]
    data = {
        **dataclasses.asdict(whole),
        "score": score,
        "modules": [dataclasses.asdict(each) for each in modules],
        "surviving": [each.as_json() for each in survivors],
    }
    return Finding(
        [f"{score:.1f} % of the mutants were found; the goal is {GOAL:g} %"] if score < GOAL else [],
        [f"mutant of {each.mutant.block} survived: {each.mutant.what}; {each.reason}" for each in survivors],
        data,
    )


def coverage_finding(percents: Mapping[str, float], not_reached: Sequence[str]) -> Finding:
    """What is not reached is open."""
    return Finding([], [f"coverage: {sentence}" for sentence in not_reached], dict(percents))
