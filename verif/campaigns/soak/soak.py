"""Random designs under random traffic, one after the other, and the smallest case of the first that fails.

Case N of a seed is always the same one, so that any of them can be run again, and a soak can go on where another stopped.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from cdma.base.errors import CdmaError, ParameterError
from cdma.verif.blocks import plan_of
from cdma.verif.campaigns.campaign import Campaign
from cdma.verif.regression import replay_command, verify
from cdma.verif.simulator.design import Design
from cdma.verif.simulator.simulate import Outcome
from cdma.verif.simulator.toolchain import find_verilator

from .designs import any_design, with_settings

__all__ = ["Case", "Result", "case_of", "reduce", "run_case", "soak"]

#: The largest part of a plan's budget that a case has.
_PART = 4


@dataclass(frozen=True)
class Case:
    """One run of the regression: a design, the tests (None: all of them), the seed of the traffic and the budget."""

    number: int
    design: Design
    tests: tuple[str, ...] | None
    seed: int
    packets: int


@dataclass(frozen=True)
class Result:
    """What became of a case. It passed if ``failure`` is empty; else ``test`` is the first test that failed."""

    case: Case
    test: str
    failure: str
    cycles: int
    seconds: float

    @property
    def replay(self) -> str:
        """The command that runs the test that failed again, or the whole case."""
        case = self.case
        if self.test:
            return replay_command(case.design, self.test, case.seed, case.packets)
        words = ["cdma verify", case.design.block, case.design.options(), f"--seed {case.seed}"]
        return " ".join(filter(None, [*words, f"--{plan_of(case.design).unit} {case.packets}"]))

    def as_json(self) -> dict[str, Any]:
        """For a line of a log."""
        return {
            "case": self.case.number,
            "design": str(self.case.design),
            "passed": not self.failure,
            "cycles": self.cycles,
            "seconds": round(self.seconds, 1),
            "test": self.test,
            "failure": self.failure,
            "replay": self.replay,
        }


def case_of(seed: int, number: int) -> Case:
    """Case ``number`` of a soak."""
    rng = random.Random(f"soak {seed}/{number}")
    design = any_design(rng)
    most = plan_of(design).budget // _PART
    return Case(number, design, None, rng.randrange(1, 1 << 31), rng.randint(most // 10, most))


def run_case(case: Case, jobs: int = 1) -> Result:
    """Runs a case. A design that cannot be built has failed, too."""
    began = time.monotonic()
    try:
        outcomes = verify(
            case.design, tests=case.tests, seed=case.seed, packets=case.packets, jobs=jobs
        ).outcomes
    except CdmaError as error:
        outcomes = [Outcome("", str(error))]
    failed = [outcome for outcome in outcomes if outcome.failure is not None]
    cycles = sum(outcome.cycles for outcome in outcomes)
    seconds = time.monotonic() - began
    if not failed:
        return Result(case, "", "", cycles, seconds)
    return Result(case, failed[0].test, str(failed[0].failure), cycles, seconds)


def soak(
    seed: int,
    first: int,
    minutes: float,
    jobs: int = 1,
    clock: Callable[[], float] = time.monotonic,
    *,
    scheduler: str | None = None,
    done: Container[int] = (),
) -> Iterator[Result]:
    """Runs case ``first`` and those after it, but for those that are ``done``, until the time is over; what still
    runs then is given up.

    On this machine there is one case at a time, of ``jobs`` simulations. The workers of a Dask ``scheduler`` share
    the cases, which then come in the order in which they end.
    """
    end = clock() + 60 * minutes

    def cases() -> Iterator[Case]:
        number = first
        while clock() < end:
            if number not in done:
                yield case_of(seed, number)
            number += 1

    campaign: Campaign[Case] = Campaign(
        "soak",
        run_case if scheduler is not None else partial(run_case, jobs=jobs),
        lost=lambda case, reason: Result(case, "", f"the case was lost: {reason}", 0, 0.0),
    )
    if scheduler is None:
        # Else every case would fail.
        find_verilator()
    for _, result in campaign.results(cases(), scheduler=scheduler, seconds=60 * minutes):
        yield result


def reduce(found: Result, report: Callable[[str], None] | None = None) -> Result:
    """The smallest case that still fails: its one test, with fewest parameters that are not at their defaults, and with
    the smallest budget, halved as often as it goes.

    Another failure of the same test counts as the same: what is left is smaller, and fails.
    """
    best = found

    def smaller(design: Design, packets: int, what: str) -> bool:
        nonlocal best
        if report is not None:
            report(what)
        case = Case(best.case.number, design, (found.test,) if found.test else None, best.case.seed, packets)
        result = run_case(case)
        if not result.failure or result.test != found.test:
            return False
        best = result
        return True

    smaller(best.case.design, best.case.packets, f"{found.test} alone")
    defaults = type(best.case.design.config)().settings()
    for name in best.case.design.config.settings():
        settings = best.case.design.config.settings()
        if name not in settings or settings[name] == defaults.get(name):
            continue
        kept = {other: value for other, value in settings.items() if other != name}
        try:
            design = with_settings(best.case.design.block, kept, init=best.case.design.init)
        except ParameterError:
            continue
        smaller(design, best.case.packets, f"without {name}")
    while best.case.packets > 1 and smaller(
        best.case.design, best.case.packets // 2, "with half of the budget"
    ):
        pass
    return best
