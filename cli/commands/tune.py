"""``cdma tune``: a search over the generator's parameters for a network, and over how the compiled codec is called."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.hdl.spec.errors import CdmaError, ParameterError
from cdma.options import add_spread_options, check_jobs

if TYPE_CHECKING:
    from cdma.sim.system.designs import Design, Evaluation, Limits, Space
    from cdma.sim.system.search import Kept

__all__ = ["register"]

_SEEDS = 10
_SAMPLERS = ("tpe", "random", "gp")


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "tune",
        help="the engine or the software's parameters that suit a network",
        description="Search. Each explains itself: cdma tune hardware --help.",
    )
    kinds = parser.add_subparsers(title="what to tune", metavar="WHAT", required=True)
    _register_hardware(kinds)
    software = kinds.add_parser(
        "software",
        help="threads and chunk of the compiled codec on this machine",
        description="Time all numbers of threads and sizes of a chunk: how one calls the compiled codec here.",
    )
    software.add_argument("--size", type=float, default=32, metavar="MB", help="of the tensor (default 32)")
    software.add_argument(
        "--density", type=float, default=0.4, metavar="D", help="of the tensor (default 0.4)"
    )
    software.add_argument("--json", action="store_true", help="print the rows as JSON")
    software.set_defaults(run=_software)


def _register_hardware(kinds: Any) -> None:
    parser = kinds.add_parser(
        "hardware",
        help="lanes, words, windows, codes, units, queue, outstanding bursts and buffers of the engine for a network",
        description="Search the designs of an engine for the shortest step of a network within an area and a clock. Areas "
        "and clocks are interpolated from measured tables; cdma area engine --config measures the chosen design. Needs the "
        "extra tune, but for --sampler random.",
    )
    parser.add_argument(
        "--network", default="squeezenet", metavar="NET", help="as of cdma model (default squeezenet)"
    )
    parser.add_argument(
        "--machine", default="titan_xp", metavar="M", help="as of cdma model (default titan_xp)"
    )
    parser.add_argument("--link", metavar="LINK", help="a link in the place of the machine's")
    parser.add_argument(
        "--area",
        type=float,
        default=600.0,
        metavar="KGE",
        help="the most area, memories included (default 600)",
    )
    parser.add_argument(
        "--clock", type=float, default=0.8, metavar="GHZ", help="the slowest clock (default 0.8)"
    )
    parser.add_argument(
        "--sampler", choices=_SAMPLERS, default="tpe", help="who chooses designs (default tpe)"
    )
    parser.add_argument(
        "--trials", type=int, default=60, metavar="N", help="designs to evaluate (default 60)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the sampler (default 1)")
    parser.add_argument(
        "--cache", type=Path, metavar="FILE", help="keep evaluations there; a later search goes on"
    )
    parser.add_argument(
        "--compare",
        action="store_true",
        help="evaluate all designs, and say after how many TPE, random search and the sampler are within 1 %% of the best, "
        f"with {_SEEDS} seeds",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw area and step of the front (.svg)")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the design for generate --config (.toml)"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="designs at once, which the sampler chooses without knowing what becomes of the others of them (default 1)",
    )
    add_spread_options(parser)
    parser.add_argument("--json", action="store_true", help="print the front as JSON")
    parser.set_defaults(run=_hardware)


def _hardware(arguments: argparse.Namespace) -> int:
    from cdma.files import ready_file, replacing
    from cdma.output import status
    from cdma.sim.system.designs import Limits, Space
    from cdma.sim.system.question import Question
    from cdma.sim.system.search import Kept, best, front, search

    check_jobs(arguments.jobs)
    for name, least in (("area", 0), ("clock", 0), ("trials", 0)):
        if getattr(arguments, name) <= least:
            raise ParameterError(f"{name} is {getattr(arguments, name)}; it must be more than {least}")
    for path, ending in ((arguments.cache, ".jsonl"), (arguments.plot, ".svg"), (arguments.output, ".toml")):
        if path is not None:
            ready_file(path, (ending,))
    asked = Question(arguments.network, arguments.machine, arguments.link)
    model = asked.model()
    space, limits = Space.of(model), Limits(arguments.area, arguments.clock)
    question = f"{arguments.network} on {model.machine.name}, batch {model.network.batch}"
    kept = Kept(question, asked, arguments.cache, partial(_share, arguments))
    with status() as say:
        if arguments.compare:
            _compare(kept, space, limits, arguments.sampler, arguments.trials, say)
        else:
            search(
                kept,
                space,
                limits,
                arguments.sampler,
                arguments.trials,
                arguments.seed,
                lambda trial, least: say(f"{trial + 1} of {arguments.trials} designs, {1e3 * least:.1f} ms"),
                arguments.jobs,
            )
    chosen, pairs = best(kept.known, limits), front(kept.known, limits)
    if chosen is None:
        raise ParameterError(
            f"none of {len(kept.known)} designs has at most {arguments.area:g} kGE and at least {arguments.clock:g} GHz"
        )
    _show(arguments, pairs, chosen)
    if arguments.plot is not None:
        with replacing(arguments.plot) as file:
            file.write(_picture(kept, pairs, question).encode())
    if arguments.output is not None:
        with replacing(arguments.output) as file:
            file.write(_toml(question, chosen, kept.known[chosen]).encode())
    return 0


def _share(
    arguments: argparse.Namespace,
    make: Callable[[Design], Evaluation | None],
    designs: Sequence[Design],
) -> Iterator[tuple[int, Evaluation | None]]:
    """Evaluates designs here, on a Dask cluster or behind a command; refuses to go on without one that was lost."""
    from cdma.synth.spread import Lost, spread

    shared = spread(
        make, designs, jobs=arguments.jobs, scheduler=arguments.scheduler, submit=arguments.submit
    )
    for index, found in shared:
        if isinstance(found, Lost):
            raise CdmaError(f"the evaluation of {designs[index]} was lost: {found.reason}")
        yield index, found


def _show(arguments: argparse.Namespace, pairs: list[tuple[Design, Evaluation]], chosen: Design) -> None:
    from cdma.output import new_table, output

    if arguments.json:
        rows = [{**asdict(design), **asdict(found), "chosen": design == chosen} for design, found in pairs]
        print(json.dumps(rows, indent=1))
        return
    table = new_table(
        *("lanes", "word bits", "window", "code bits", "units", "queue", "outstanding", "read buffer"),
        *("kGE with memories", "GHz", "ms/step", "chosen"),
        texts=0,
    )
    for design, found in pairs:
        table.add_row(
            *map(str, asdict(design).values()),
            *(f"{found.area_kge:.0f}", f"{found.clock_ghz:.2f}", f"{1e3 * found.step_s:.1f}"),
            "yes" if design == chosen else "",
        )
    output().print(table)


def _compare(kept: Kept, space: Space, limits: Limits, asked: str, trials: int, say: Any) -> None:
    """Evaluates all designs, then lets each sampler search with several seeds."""
    from statistics import median

    from cdma.sim.system.search import cost, search, until_within

    designs = list(space)
    say(f"all {len(designs)} designs")
    least = min(cost(found, limits) for found in kept(designs))
    samplers = [name for name in _SAMPLERS if name in (*_SAMPLERS[:2], asked)]
    for sampler in samplers:
        counts = []
        for seed in range(1, _SEEDS + 1):
            say(f"{sampler}, seed {seed}")
            counts.append(until_within(search(kept, space, limits, sampler, trials, seed), least))
        reached = sorted(trials + 1 if count is None else count for count in counts)
        shown = ", ".join(f"more than {trials}" if count > trials else str(count) for count in reached)
        middle = median(reached)
        print(
            f"{sampler}: within 1 % of the best of {len(designs)} designs after {middle:g} evaluations in the median of "
            f"{_SEEDS} seeds ({shown})",
            flush=True,
        )


def _picture(kept: Kept, pairs: list[tuple[Design, Evaluation]], question: str) -> str:
    from cdma.sim.support.svg import Line, line_chart

    return line_chart(
        f"{question}: step by area, {len(kept.known)} designs evaluated",
        [Line("front", [found.area_kge for _, found in pairs], [1e3 * found.step_s for _, found in pairs])],
        x_label="kGE, memories included",
        y_label="ms a step",
    )


def _toml(question: str, design: Design, found: Evaluation | None) -> str:
    assert found is not None
    lines = [
        f"# cdma tune hardware: {question}.",
        f"# By interpolation {found.area_kge:.0f} kGE with memories and {found.clock_ghz:.2f} GHz.",
        f"# A step takes {1e3 * found.step_s:.1f} ms.",
        *(f"{name} = {value}" for name, value in design.settings().items()),
    ]
    return "\n".join(lines) + "\n"


def _software(arguments: argparse.Namespace) -> int:
    from cdma.output import new_table, output, step_progress
    from cdma.sim.compare.launches import Workload, launches

    if not 1 <= arguments.size <= 1000 or not 0 <= arguments.density <= 1:
        raise ParameterError("size must be 1 to 1000 MB and density 0 to 1")
    workload, tried = Workload(arguments.size, arguments.density), list(launches())
    rows = []
    with step_progress("timing threads and chunks", len(tried)) as advance:
        for launch in tried:
            rows.append({**asdict(launch), "seconds": workload.seconds(launch)})
            advance()
    rows.sort(key=lambda row: row["seconds"])
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return 0
    table = new_table("threads", "chunk, KB", "ms there and back", texts=0)
    for row in rows[:5] + rows[-1:]:
        table.add_row(str(row["threads"]), str(row["chunk_KB"]), f"{1e3 * row['seconds']:.2f}")
    output().print(table)
    return 0
