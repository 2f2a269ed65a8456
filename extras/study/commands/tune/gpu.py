"""``cdma study tune gpu``: a search over how kernels of the codec are launched on this card; and how soon each sampler finds
the best launch, with what training gains by that (CSWAP's Figure 13)."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from cdma.base.document import Part, Table
from cdma.base.errors import ParameterError
from cdma.command import Command, flag, option
from cdma.hdl.spec.format import PRESETS, Format
from cdma.options import check_between
from cdma.result import Columns, Result, Row, column
from cdma.study.tuner.search import (
    Course,
    Kept,
    Space,
    asked_for,
    course,
    explore,
    sampler_named,
    search_options,
    together,
)
from cdma.torch.commands.swap import bench_of

if TYPE_CHECKING:
    from cdma.gpu.plans import Plan
    from cdma.study.compare.card_launches import Timed, TunedTraining, Workload


_SHOWN = 5
_KERNELS = ("pack", "unpack")
#: The format of what the networks keep.
_TRAINED = "zvc32"


#: Searches of a sampler that are compared.
SEEDS = 10
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


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.files import ready_file

    check_between("size", arguments.size, 1 / 64, 1 << 16)
    check_between("rounds", arguments.rounds, 1, 1000)
    if not 0 <= arguments.density <= 1:
        raise ParameterError(f"density is {arguments.density:g}; it must be 0 to 1")
    if arguments.cache is not None:
        ready_file(arguments.cache, (".jsonl",))
    kernels = _KERNELS if arguments.kernel == "both" else (arguments.kernel,)
    subjects = {kernel: _subject(kernel, arguments) for kernel in kernels}
    rows = _compared(arguments, subjects) if arguments.compare else []
    if not rows:
        for one in subjects.values():
            explore(arguments, one.kept, one.space, cost)
    times = {
        kernel: sorted((cost(found), each) for each, found in one.kept.known.items())
        for kernel, one in subjects.items()
    }
    if any(several[0][0] == math.inf for several in times.values()):
        raise ParameterError(
            "none of the plans that were tried runs on this card; more --trials may find one"
        )
    files = [one.workload.keep(times[kernel][0][1]) for kernel, one in subjects.items() if arguments.keep]
    parts: list[Part | str] = []
    if rows:
        parts += [search_table(rows)]
        if arguments.format != _TRAINED:
            parts.append(f"no training was timed: what it keeps are streams of {_TRAINED}")
    sampler = _GRID if rows else sampler_named(arguments.sampler)
    parts += _times(times, {kernel: one.workload.question for kernel, one in subjects.items()}, sampler)
    parts += [f"kept in {file}" for file in dict.fromkeys(files)]
    return Result(_data(times, rows), parts)


def _subject(kernel: str, arguments: argparse.Namespace) -> Subject:
    from cdma.gpu.door import kernels_in

    plan_type = kernels_in("plans").Plan
    from cdma.study.compare.card_launches import PLANS, Timed, Workload

    asked_for(arguments, PLANS)
    workload = Workload(kernel, Format.preset(arguments.format), arguments.size, arguments.density)
    kept = Kept((plan_type, Timed), workload.question, workload.timed, arguments.cache)
    return Subject(workload, PLANS, kept)


def _compared(arguments: argparse.Namespace, subjects: Mapping[str, Subject]) -> list[Row]:
    """The rows of searches; a network that cannot be trained is refused before there are any."""
    training: TunedTraining | None = None
    if arguments.format == _TRAINED:
        bench = bench_of(arguments, [arguments.batch])
        from cdma.study.compare.card_launches import TunedTraining

        training = TunedTraining(arguments.networks[0], bench)
    named = [sampler_named(name) for name in ("auto", "tpe", "random", arguments.sampler)]
    samplers = [name for name in dict.fromkeys(named) if name != "grid"]
    trials = arguments.default_trials if arguments.trials is None else arguments.trials
    return searches(subjects, samplers, trials, training)


def _data(times: Mapping[str, Sequence[tuple[float, Plan]]], searches: list[Row]) -> Any:
    rows: list[dict[str, Any]] = [
        {
            "kernel": kernel,
            **asdict(each),
            "seconds": None if seconds == math.inf else seconds,
            "chosen": each == several[0][1],
        }
        for kernel, several in times.items()
        for seconds, each in several
    ]
    if not searches:
        return rows
    return {
        "searches": searches,
        "rows": rows,
    }


def _times(
    times: Mapping[str, Sequence[tuple[float, Plan]]], questions: Mapping[str, str], sampler: str
) -> Iterator[Part | str]:
    rows = [
        (kernel, *map(str, asdict(each).values()), f"{1e3 * seconds:.3f}")
        for kernel, several in times.items()
        for seconds, each in several[:_SHOWN]
    ]
    yield Table(("kernel", "unroll", "registers", "ms"), rows, range(1, 4))
    for kernel, several in times.items():
        yield f"sampler {sampler}: the best of {len(several)} plans of {questions[kernel]}"
    if len(times) > 1:
        yield f"both take {1e3 * sum(several[0][0] for several in times.values()):.3f} ms"


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
    plans = {kernel: one.workload.expert for kernel, one in subjects.items()}
    least = sum(cost(one.kept([plans[kernel]])[0]) for kernel, one in subjects.items())
    return Course([plans], [least], [0.0])


def _course(
    subjects: Mapping[str, Subject], sampler: str, trials: int, seed: int
) -> Course[Mapping[str, Plan]]:
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


COMMAND = Command(
    "gpu",
    "how kernels of the codec are launched on this card",
    "Search warps, windows of a step, steps side by side and registers of a kernel of the codec for the shortest time on "
    "this card (CSWAP's Algorithm 1). With --kernel both it is the sum of both; each is searched by itself, for it has a "
    "plan of its own. Each plan that is tried must give the right bytes. With --keep programs use the best from then on. "
    "With --compare the searches of each sampler stand beside the plan of an expert, which is that of this program's table, "
    "and a search through all plans (CSWAP's Figure 13): evaluations and seconds until the best was found, compiling "
    "included, and a step of training with it. Needs the extras gpu and, but for --sampler random or grid, tune.",
    _run,
    {
        "": (
            option("--kernel", "compress or decompress, or both", "pack", choices=(*_KERNELS, "both")),
            option("--format NAME", "the format", "zvc32", choices=[*PRESETS]),
            option("--size MIB", "of the tensor", 256.0),
            option("--density D", "of the tensor", 0.5),
            *search_options("plans", 25),
            flag("--compare", "evaluate all plans, and show after how many TPE, random search and the sampler find the best "
                f"of theirs, with {SEEDS} seeds"),
            flag("--keep", "have programs use the best plan"),
            option("--network NAME", "with --compare, what is trained: a network of cdma bench "
                "swap", ['vgg'], dest="networks", nargs=1),
            option("--batch N", "images of a step", 64),
            option("--rounds N", "steps to time", 10),
            flag("--json", "print the plans that were timed as JSON"),
        ),
    },
    ["--kernel both --keep", "--format bf16 --density 1 --sampler random --trials 30",
        "--kernel both --compare --network vgg16 --json"],
    fixed={'default_trials': 25, 'cuda': True, 'link': 1.0, 'precision': 'fp32', 'weights': None},
)  # fmt: skip
