"""The regression on a Dask cluster: a job for each test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from cdma.verif.blocks import plan_of
from cdma.verif.regression import Regression, check_budget, verify
from cdma.verif.simulator.design import Design
from cdma.verif.simulator.simulate import Outcome

from .campaign import Campaign

__all__ = ["verify_on_cluster"]


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
    verify_some = partial(verify, design, seed=seed, packets=budget, verilog=verilog, four_state=four_state)
    campaign: Campaign[str] = Campaign(
        "regression",
        partial(_run, verify_some),
        lost=lambda test, reason: Outcome(test, f"the run was lost: {reason}"),
    )
    outcomes: dict[str, Outcome] = {}
    for test, outcome in campaign.results((point.name for point in longest), scheduler=scheduler):
        outcomes[test] = outcome
        if report is not None:
            report(outcome)
    return Regression(design, seed, budget, [outcomes[point.name] for point in points])


def _run(verify_some: Callable[..., Regression], test: str) -> Outcome:
    """Builds where there is no build yet, and runs one test."""
    (outcome,) = verify_some(tests=[test]).outcomes
    return outcome
