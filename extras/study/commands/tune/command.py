"""``cdma study tune``: searches, and ``hardware``, one over the generator's parameters for a network."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cdma.base.document import Table
from cdma.base.errors import CdmaError, ParameterError
from cdma.command import Command, flag, option
from cdma.options import DASK, check_one_or_more
from cdma.result import Result
from cdma.study.tuner.search import Kept, explore, search_options

from . import gpu

if TYPE_CHECKING:
    from cdma.study.system.designs import Design, Evaluation


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.files import ready_file, replacing
    from cdma.study.system.designs import (
        Design,
        Evaluation,
        Limits,
        NamedTrainer,
        best,
        design_space,
        objective,
        pareto_front,
    )

    check_one_or_more(arguments, "jobs")
    for name in ("area", "clock"):
        if getattr(arguments, name) <= 0:
            raise ParameterError(f"{name} is {getattr(arguments, name)}; it must be more than 0")
    for path, ending in ((arguments.cache, ".jsonl"), (arguments.output, ".toml")):
        if path is not None:
            ready_file(path, (ending,))
    evaluate = NamedTrainer(arguments.network, arguments.machine, arguments.link)
    model = evaluate.model()
    space, limits = design_space(model), Limits(arguments.area, arguments.clock)
    question = f"{arguments.network} on {model.machine.name}, batch {model.network.batch}"
    kept = Kept((Design, Evaluation), question, evaluate, arguments.cache, share=partial(_share, arguments))
    sampler = explore(arguments, kept, space, lambda found: objective(found, limits), arguments.jobs)
    chosen, pairs = best(kept.known, limits), pareto_front(kept.known, limits)
    if chosen is None:
        raise ParameterError(
            f"none of {len(kept.known)} designs has at most {arguments.area:g} kGE and at least {arguments.clock:g} GHz"
        )
    if arguments.output is not None:
        with replacing(arguments.output) as file:
            file.write(_toml(question, chosen, kept.known[chosen], sampler).encode())
    return _result(pairs, chosen, sampler)


def _share(
    arguments: argparse.Namespace,
    make: Callable[[Design], Evaluation | None],
    designs: Sequence[Design],
) -> Iterator[tuple[int, Evaluation | None]]:
    """Evaluates designs here or on a Dask cluster; refuses to go on without one that was lost."""
    from cdma.base.spread import Lost, spread

    shared = spread(make, designs, jobs=arguments.jobs, scheduler=arguments.scheduler)
    for index, found in shared:
        if isinstance(found, Lost):
            raise CdmaError(f"the evaluation of {designs[index]} was lost: {found.reason}")
        yield index, found


def _result(pairs: list[tuple[Design, Evaluation]], chosen: Design, sampler: str) -> Result:
    rows = [
        {**asdict(design), **asdict(found), "sampler": sampler, "chosen": design == chosen}
        for design, found in pairs
    ]
    cells = [
        (
            *map(str, asdict(design).values()),
            *(f"{found.area_kge:.0f}", f"{found.clock_ghz:.2f}", f"{1e3 * found.step_s:.1f}"),
            "yes" if design == chosen else "",
        )
        for design, found in pairs
    ]
    table = Table(_TITLES, cells, range(len(_TITLES)))
    return Result(rows, [table, f"sampler {sampler}"])


_TITLES = (
    *("lanes", "word bits", "window", "code bits", "units", "queue", "outstanding", "read buffer"),
    *("kGE with memories", "GHz", "ms/step", "chosen"),
)


def _toml(question: str, design: Design, found: Evaluation | None, sampler: str) -> str:
    assert found is not None
    lines = [
        f"# cdma study tune hardware: {question}; sampler {sampler}.",
        f"# By interpolation {found.area_kge:.0f} kGE with memories and {found.clock_ghz:.2f} GHz.",
        f"# A step takes {1e3 * found.step_s:.1f} ms.",
        *(f"{name} = {value}" for name, value in design.settings().items()),
    ]
    return "\n".join(lines) + "\n"


_HARDWARE = Command(
    "hardware",
    "lanes, words, windows, codes, units, queue, outstanding bursts and buffers of the engine for a network",
    "Search the designs of an engine for the shortest step of a network within an area and a clock. Areas and clocks are "
    "interpolated from measured tables; cdma area engine --config measures the chosen design. Needs the extra tune, but for "
    "--sampler random or grid.",
    _run,
    {
        "": (
            option("--network NET", "as of cdma study model", 'squeezenet'),
            option("--machine M", "as of cdma study model", 'titan_xp'),
            option("--link LINK", "a link in the place of the machine's"),
            option("--area KGE", "the most area, memories included", 600.0),
            option("--clock GHZ", "the slowest clock", 0.8),
            *search_options("designs", 60),
            option("-o --output FILE", "write the design for generate --config (.toml)", Path),
            option("--jobs N", "designs at once, which the sampler chooses without knowing what becomes of the others of "
                "them", 1),
            DASK,
            flag("--json", "print the front as JSON"),
        ),
    },
    ["--network vgg16 --area 400 -o engine.toml", "--sampler tpe --trials 100"],
    fixed={'default_trials': 60},
)  # fmt: skip

COMMAND = Command(
    "tune",
    "the engine, or how kernels of a GPU are launched, that suits a network",
    "Search. Each explains itself: cdma study tune hardware --help.",
    commands=[_HARDWARE, gpu.COMMAND],
    title="what to tune",
)
