"""How soon each sampler finds how the kernels are launched best, and what training gains by that: CSWAP's Figure 13."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from cdma.base.document import Table
from cdma.result import Columns, Row, column

from .searching import SEEDS, Compared

if TYPE_CHECKING:
    from cdma.gpu.plans import Plan
    from cdma.study.compare.card_launches import Timed, TunedTraining, Workload
    from cdma.study.tuner.search import Course, Kept, Space

_EXPERT, _GRID = "expert", "grid"
_COLUMNS: Columns = {
    "sampler": column("sampler"),
    "evaluations": column("evaluations", "g"),
    "seconds": column("seconds", ".1f"),
    "of": column("searched", "g"),
    "seconds of all": column("search_seconds", ".1f"),
    "ms": column("ms", ".3f"),
    "step, ms": column("step_ms", ".2f"),
}


@dataclass(frozen=True)
class Subject:
    """A kernel whose plans are searched."""

    workload: Workload
    space: Space[Plan]
    kept: Kept[Plan, Timed]


def cost(found: Timed | None) -> float:
    """Seconds of a call, without end for a plan that does not run."""
    return math.inf if found is None or found.seconds is None else found.seconds


def searches(
    subjects: Mapping[str, Subject], samplers: Sequence[str], trials: int, training: TunedTraining | None
) -> list[Row]:
    """A row for the expert's plans, and for each search: of ten seeds for each sampler, and of all plans."""
    from cdma.output import status

    seeds = {name: range(1, 2 if name == _GRID else SEEDS + 1) for name in (*samplers, _GRID)}
    with status() as say:
        found = {(_EXPERT, 0): _expert(subjects)}
        for sampler, several in seeds.items():
            for seed in several:
                say(f"{sampler}, seed {seed}")
                found[sampler, seed] = _course(subjects, sampler, trials, seed)
        say("training")
        steps = _steps(list(found.values()), training)
    return [
        {
            "sampler": sampler,
            "seed": seed,
            "plans": {kernel: asdict(plan) for kernel, plan in one.best[-1].items()},
            "evaluations": one.evaluations,
            "seconds": one.seconds[one.evaluations - 1],
            "searched": len(one.least),
            "search_seconds": one.seconds[-1],
            "ms": _ms(one.least[-1]),
            "least_ms": [_ms(each) for each in one.least],
            "step_ms": step,
        }
        for ((sampler, seed), one), step in zip(found.items(), steps, strict=True)
    ]


def _expert(subjects: Mapping[str, Subject]) -> Course[Mapping[str, Plan]]:
    """A search that is over before it begins."""
    from cdma.study.tuner.search import Course

    plans = {kernel: one.workload.expert for kernel, one in subjects.items()}
    least = sum(cost(one.kept([plans[kernel]])[0]) for kernel, one in subjects.items())
    return Course([plans], [least], [0.0])


def _course(
    subjects: Mapping[str, Subject], sampler: str, trials: int, seed: int
) -> Course[Mapping[str, Plan]]:
    from cdma.study.tuner.search import course, together

    def took(found: Timed | None) -> float:
        return 0.0 if found is None else found.took

    return together(
        {
            kernel: course(
                one.kept,
                one.space,
                cost,
                took,
                sampler,
                len(list(one.space)) if sampler == _GRID else trials,
                seed,
            )
            for kernel, one in subjects.items()
        }
    )


def _steps(
    courses: Sequence[Course[Mapping[str, Plan]]], training: TunedTraining | None
) -> list[float | None]:
    """Milliseconds of a step with what each found; the same plans are timed once."""
    if training is None:
        return [None for _ in courses]
    keys = [tuple(one.best[-1].values()) if one.least[-1] < math.inf else None for one in courses]
    plans = {key: one.best[-1] for key, one in zip(keys, courses, strict=True) if key is not None}
    seconds = dict(zip(plans, training.seconds(list(plans.values())), strict=True))
    return [None if key is None else 1e3 * seconds[key] for key in keys]


def _ms(seconds: float) -> float | None:
    return None if seconds == math.inf else 1e3 * seconds


def compared_searches(rows: Sequence[Row], within: float) -> list[Compared]:
    """After how many evaluations each sampler is within a part of the best of all plans."""
    from cdma.study.tuner.search import until_within

    grid = _of(rows, _GRID)[0]

    def count(row: Row) -> int | None:
        costs = [math.inf if ms is None else ms for ms in row["least_ms"]]
        return until_within(costs, grid["ms"], within)

    return [
        Compared(name, within, several[0]["searched"], [count(row) for row in several], grid["searched"])
        for name in dict.fromkeys(row["sampler"] for row in rows)
        if len(several := _of(rows, name)) > 1
    ]


def search_table(rows: Sequence[Row]) -> Table:
    """A line for each sampler: medians of its seeds."""
    lines = []
    for name in dict.fromkeys(row["sampler"] for row in rows):
        middle: dict[str, Any] = {"sampler": name}
        for key in ("evaluations", "seconds", "searched", "search_seconds", "ms", "step_ms"):
            values = [row[key] for row in _of(rows, name) if row[key] is not None]
            middle[key] = median(values) if values else None
        lines.append([cell(middle) for cell in _COLUMNS.values()])
    return Table(list(_COLUMNS), lines, range(1, len(_COLUMNS)))


def _of(rows: Sequence[Row], sampler: str) -> list[Row]:
    return [row for row in rows if row["sampler"] == sampler]
