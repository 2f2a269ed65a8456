"""The regression on a Dask cluster: a job for each test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cdma.base.spread import Lost, spread
from cdma.verif.simulator.design import Design
from cdma.verif.simulator.simulate import Outcome

from .blocks import design_from_json, plan_of
from .regression import Regression, check_budget, verify

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
    items = [
        _Job(design.block, design.to_json(), point.name, seed, budget, verilog, four_state)
        for point in longest
    ]
    outcomes: dict[str, Outcome] = {}
    for index, found in spread(_run, items, scheduler=scheduler):
        test = items[index].test
        lost = f"the run was lost: {found.reason}" if isinstance(found, Lost) else None
        outcomes[test] = Outcome(test, lost) if lost else found
        if report is not None:
            report(outcomes[test])
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
