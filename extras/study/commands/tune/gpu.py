"""``cdma study tune gpu``: a search over how kernels of the codec are launched on this card."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cdma.base.document import Part, Table
from cdma.base.errors import ParameterError
from cdma.command import Command, flag, option
from cdma.hdl.spec.format import PRESETS, Format
from cdma.options import check_between
from cdma.result import Result, Row
from cdma.torch.commands.swapping import bench_of

from .plans_compared import Subject, compared_searches, cost, search_table, searches
from .searching import explore, plan, search_options, searched

if TYPE_CHECKING:
    from cdma.gpu.plans import Plan
    from cdma.study.compare.card_launches import TunedTraining


#: A timing is not repeated to better than a few per cent.
_WITHIN = 0.03
_SHOWN = 5
_KERNELS = ("pack", "unpack")
#: The format of what the networks keep.
_TRAINED = "zvc32"


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
            explore(one.kept, one.space, cost, plan(arguments, one.space), _WITHIN)
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
        parts += [*map(str, compared_searches(rows, _WITHIN)), search_table(rows)]
        if arguments.format != _TRAINED:
            parts.append(f"no training was timed: what it keeps are streams of {_TRAINED}")
    sampler = "grid" if rows else plan(arguments, subjects[kernels[0]].space).sampler
    parts += _times(times, {kernel: one.workload.question for kernel, one in subjects.items()}, sampler)
    parts += [f"kept in {file}" for file in dict.fromkeys(files)]
    return Result(_data(times, rows), parts)


def _subject(kernel: str, arguments: argparse.Namespace) -> Subject:
    from cdma.gpu.extras import kernels_in
    from cdma.study.tuner.search import Kept

    plan_type = kernels_in("plans").Plan
    from cdma.study.compare.card_launches import PLANS, Timed, Workload

    plan(arguments, PLANS)
    workload = Workload(kernel, Format.preset(arguments.format), arguments.size, arguments.density)
    kept = Kept((plan_type, Timed), workload.question, workload.timed, arguments.cache)
    return Subject(workload, PLANS, kept)


def _compared(arguments: argparse.Namespace, subjects: Mapping[str, Subject]) -> list[Row]:
    """The rows of searches; a network that cannot be trained is refused before there are any."""
    from cdma.study.tuner.search import sampler_named

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
    compared = compared_searches(searches, _WITHIN) if searches else []
    return searched(rows, compared, searches=searches)


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
            *search_options("plans", 25, _WITHIN),
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
