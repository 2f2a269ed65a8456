"""Runs the regression on mutants of a design, and sorts those that it misses by proof.

A mutant meets a short regression first, which finds most of them in a second, then the whole one. A survivor is
compared with the design by proof; one of a codec that differs meets the proof of the rules at its ports.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cdma.base.errors import CdmaError, ParameterError
from cdma.verif.campaigns.regression import Campaign, plan_of, verify
from cdma.verif.simulator.simulate import Design, Outcome

from .mutants import Mutant, broken_rules, draw, is_equivalent, mutated_verilog

#: What becomes of a mutant.
KILLED, EQUIVALENT, SURVIVED = "killed", "equivalent", "survived"

#: The titles of a table of scores.
SCORE_TITLES = ("block", "mutants", "equivalent", "killed", "survivors", "score, %")

#: The part of the whole regression's budget that the short one has.
_SHORT = 50
#: Seconds of a test up to which the short one has it.
_PATIENCE = 3.0


@dataclass(frozen=True)
class Verdict:
    """The verdict on a mutant.

    ``result``: :data:`KILLED`, :data:`EQUIVALENT` or :data:`SURVIVED`.
    ``by``: The test or the proof that found it, or how it was shown to be equivalent.
    ``reason``: The message of the test, what the proof refuted, or what is known of a survivor.
    """

    mutant: Mutant
    result: str
    by: str = ""
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        fields = dataclasses.asdict(self.mutant)
        return {**fields, "result": self.result, "by": self.by, "reason": self.reason}


@dataclass(frozen=True)
class Score:
    """The mutants of one block, counted."""

    block: str
    mutants: int
    equivalent: int
    killed: int
    survivors: int

    @property
    def score(self) -> float:
        """The share of mutants that are not equivalent that was killed; 1 if there is none."""
        real = self.mutants - self.equivalent
        return self.killed / real if real else 1.0

    def cells(self) -> list[str]:
        counts = (self.mutants, self.equivalent, self.killed, self.survivors)
        return [self.block, *map(str, counts), f"{100 * self.score:.1f}"]


@dataclass(frozen=True)
class _Stage:
    """One regression: its tests, its budget, its seed, and the seconds after which a simulation counts as hung."""

    tests: tuple[str, ...]
    packets: int
    seed: int
    timeout: float


@dataclass(frozen=True)
class _Job:
    """What a worker needs. ``number`` chooses the mutant in the ``text`` of all."""

    design: Design
    text: str
    mutant: Mutant
    number: int
    stages: tuple[_Stage, ...]
    prove: int

    def __str__(self) -> str:
        return f"mutant {self.number} of {self.mutant.block}"


class _Found(Exception):
    """A test failed, and the rest need not run."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


def run_campaign(
    design: Design,
    blocks: Sequence[str],
    *,
    count: int,
    seed: int = 1,
    packets: int | None = None,
    prove: int = 60,
    jobs: int = 1,
    scheduler: str | None = None,
    on_done: Callable[[Verdict], None] | None = None,
) -> dict[str, list[Verdict]]:
    """The verdicts on ``count`` mutants of each of these ``blocks`` of the design, in the order in which they were drawn.
    All are in one simulation, and one that is drawn for several blocks is tried once.

    ``packets`` is the budget of the whole regression, ``prove`` the seconds of each proof. ``jobs`` of them run at
    once, or the workers of a Dask ``scheduler`` share them. ``on_done`` gets each verdict.
    """
    drawn = {block: draw(design, block, count, seed) for block in blocks}
    for block, found in drawn.items():
        if not found:
            raise ParameterError(f"block is {block!r}, which has no cell of its own that could be mutated")
    mutants = list(dict.fromkeys(mutant for found in drawn.values() for mutant in found))
    text = mutated_verilog(design, mutants)
    budget = plan_of(design).budget if packets is None else packets
    stages = _stages(design, text, seed, budget)
    asked = f"seed {seed}, budget {budget}, proof of {prove} s"
    campaign: Campaign[_Job] = Campaign(
        "mutation", _try_mutant, key=lambda job: (design.verilog(), asked, job.mutant.command)
    )
    parts = [
        _Job(design, text, mutant, number, stages, prove) for number, mutant in enumerate(mutants, start=1)
    ]
    verdicts: dict[Mutant, Verdict] = {}
    for job, fields in campaign.results(parts, jobs=jobs, scheduler=scheduler):
        verdicts[job.mutant] = Verdict(job.mutant, *fields)
        if on_done is not None:
            on_done(verdicts[job.mutant])
    return {block: [verdicts[mutant] for mutant in found] for block, found in drawn.items()}


def _stages(design: Design, text: str, seed: int, whole: int) -> tuple[_Stage, ...]:
    """The two regressions. The design without a fault passes both, or a test that fails would say nothing."""
    found = []
    for budget, start in ((max(1, whole // _SHORT), seed), (whole, seed + 1)):
        result = verify(design, verilog=text, packets=budget, seed=start)
        failed = [f"{outcome.test}: {outcome.failure}" for outcome in result.outcomes if outcome.failure]
        if failed:
            raise CdmaError(f"the regression fails on the {design} without a fault: {'; '.join(failed)}")
        quick = [outcome.test for outcome in result.outcomes] if budget == whole else _quick(result.outcomes)
        # A machine may be busier later than now.
        timeout = 30 + 10 * sum(outcome.seconds for outcome in result.outcomes if outcome.test in quick)
        found.append(_Stage(tuple(quick), budget, start, 10.0 * round(timeout / 10)))
    return tuple(found)


def _quick(outcomes: Sequence[Outcome]) -> list[str]:
    """The tests of the short regression: on a machine that is busy, those that take less than the others."""
    seconds = [outcome.seconds for outcome in outcomes]
    limit = max(_PATIENCE, sum(seconds) / len(seconds))
    return [outcome.test for outcome in outcomes if outcome.seconds <= limit]


def _try_mutant(job: _Job) -> tuple[str, str, str]:
    """The fields of a verdict."""
    design = job.design

    def stop(outcome: Outcome) -> None:
        if outcome.failure is not None:
            raise _Found(outcome)

    for stage in job.stages:
        try:
            verify(
                design,
                verilog=job.text,
                tests=stage.tests,
                packets=stage.packets,
                seed=stage.seed,
                timeout=stage.timeout,
                plusargs=[f"+mutant={job.number}"],
                report=stop,
            )
        except _Found as found:
            return KILLED, found.outcome.test, str(found.outcome.failure).strip().splitlines()[0]
    same = is_equivalent(design, job.mutant, job.prove)
    if same:
        return EQUIVALENT, "proof", "no input shows a difference"
    broken = broken_rules(design, job.mutant, job.prove)
    if broken:
        return KILLED, f"{design.block}_ports", broken
    known = "some input shows a difference" if same is False else f"not decided by a proof of {job.prove} s"
    return SURVIVED, "", known


def scores(verdicts: Sequence[Verdict], block: str) -> list[Score]:
    """The counts of each module that has mutants, by name, and last those of the whole ``block``."""
    modules = sorted({verdict.mutant.block for verdict in verdicts})
    parts = [(name, [each for each in verdicts if each.mutant.block == name]) for name in modules]
    rows = parts if modules == [block] else [*parts, (block, list(verdicts))]
    return [_score(name, part) for name, part in rows]


def _score(block: str, verdicts: Sequence[Verdict]) -> Score:
    counts = {
        result: sum(each.result == result for each in verdicts) for result in (KILLED, EQUIVALENT, SURVIVED)
    }
    return Score(block, len(verdicts), counts[EQUIVALENT], counts[KILLED], counts[SURVIVED])
