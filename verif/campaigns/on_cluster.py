"""The regression on a Dask cluster: a job for each test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cdma.verif.blocks import design_from_json, plan_of
from cdma.verif.regression import Regression, check_budget, verify
from cdma.verif.simulator.design import Design
from cdma.verif.simulator.simulate import Outcome

from .campaign import Campaign

__all__ = ["verify_on_cluster"]


@dataclass(frozen=True)
class _Job:
    """What a worker needs, independent of the machine that made it. ``verilog`` is None for the design's own text."""

    block: str
    design: str
    test: str
    seed: int
    packets: int
    verilog: str | None
    four_state: bool


def verify_on_cluster(
    design: Design,
    scheduler: str,
    *,
    tests: Sequence[str] | None = None,
    seed: int = 1,
    packets: int | None = None,
    verilog: str | None = None,
    four_state: bool = False,
    report: Callable[[Outcome], None] | None = None,
) -> Regression:
    """:func:`.verify` with the workers of a Dask ``scheduler``. A test whose job is lost has failed."""
    plan = plan_of(design)
    budget = check_budget(plan, packets)
    points = plan.choose(design, tests)
    longest = sorted(points, key=lambda point: -point.weight)
    parts = [
        _Job(design.block, design.to_json(), point.name, seed, budget, verilog, four_state)
        for point in longest
    ]
    campaign: Campaign[_Job] = Campaign(
        "regression", _run, lost=lambda job, reason: Outcome(job.test, f"the run was lost: {reason}")
    )
    outcomes: dict[str, Outcome] = {}
    for job, outcome in campaign.results(parts, scheduler=scheduler):
        outcomes[job.test] = outcome
        if report is not None:
            report(outcome)
    return Regression(design, seed, budget, [outcomes[point.name] for point in points])


def _run(job: _Job) -> Outcome:
    """Builds where there is no build yet, and runs one test."""
    design = design_from_json(job.block, job.design)
    (outcome,) = verify(
        design,
        tests=[job.test],
        seed=job.seed,
        packets=job.packets,
        verilog=job.verilog,
        four_state=job.four_state,
    ).outcomes
    return outcome
