"""``cdma study tune software``: a search over threads and chunk of the compiled codec on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from cdma.base.document import Part, Table
from cdma.base.errors import ParameterError
from cdma.command import Command, flag, option
from cdma.result import Result

from .searching import Compared, Plan, explore, plan, search_options, searched

if TYPE_CHECKING:
    from cdma.study.compare.launches import Launch, Timed
    from cdma.study.tuner.search import Kept


#: A timing is not repeated to better than a few per cent.
_WITHIN = 0.05
_SHOWN = 5


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.files import ready_file, replacing
    from cdma.study.compare.launches import Launch, Timed, Workload, launch_space
    from cdma.study.tuner.search import Kept

    if not 1 <= arguments.size <= 1000 or not 0 <= arguments.density <= 1:
        raise ParameterError("size must be 1 to 1000 MB and density 0 to 1")
    for path, ending in ((arguments.cache, ".jsonl"), (arguments.output, ".toml")):
        if path is not None:
            ready_file(path, (ending,))
    space = launch_space()
    asked = plan(arguments, space)
    workload = Workload(arguments.size, arguments.density)
    kept = Kept((Launch, Timed), workload.question, workload.timed, arguments.cache)
    compared = explore(kept, space, _cost, asked, _WITHIN)
    chosen = min(kept.known, key=lambda launch: _cost(kept.known[launch]))
    if arguments.output is not None:
        with replacing(arguments.output) as file:
            file.write(_toml(workload.question, chosen, _cost(kept.known[chosen]), asked).encode())
    return _result(kept, chosen, asked, compared)


def _cost(found: Timed | None) -> float:
    assert found is not None
    return found.seconds


def _result(kept: Kept[Launch, Timed], chosen: Launch, asked: Plan, compared: Sequence[Compared]) -> Result:
    times = sorted((_cost(found), launch) for launch, found in kept.known.items())
    rows = [
        {**asdict(launch), "seconds": seconds, "sampler": asked.chosen_by, "chosen": launch == chosen}
        for seconds, launch in times
    ]
    few = [*times[:_SHOWN], times[-1]] if len(times) > _SHOWN else times
    cells = [(str(each.threads), str(each.chunk_KB), f"{1e3 * seconds:.2f}") for seconds, each in few]
    settings = ", ".join(f"{name}={value}" for name, value in chosen.settings().items())
    best = f"of {len(times)} settings that were timed the best is cdma.compress(array, {settings})"
    table = Table(("threads", "chunk, KB", "ms there and back"), cells, range(3))
    parts: list[Part | str] = [*map(str, compared), table, f"sampler {asked.chosen_by}: {best}"]
    return Result(searched(rows, compared), parts)


def _toml(question: str, chosen: Launch, seconds: float, asked: Plan) -> str:
    lines = [
        f"# cdma study tune software: {question}; sampler {asked.chosen_by}.",
        f"# There and back in {1e3 * seconds:.2f} ms. Arguments of cdma.compress and cdma.decompress.",
        *(f"{name} = {value}" for name, value in chosen.settings().items()),
    ]
    return "\n".join(lines) + "\n"


COMMAND = Command(
    "software",
    "threads and chunk of the compiled codec on this machine",
    "Search threads and chunk of the compiled codec for the shortest time there and back of a tensor on this machine. "
    "Settings are timed one after the other and here, never on a Dask cluster: beside each other, or elsewhere, they would "
    "time something else. Needs the extra tune, but for --sampler random or grid.",
    _run,
    {
        "": (
            option("--size MB", "of the tensor", 32.0),
            option("--density D", "of the tensor", 0.4),
            *search_options("settings", 15, _WITHIN),
            option("-o --output FILE", "write the setting as arguments of cdma.compress and cdma.decompress (.toml)", Path),
            flag("--json", "print the settings that were timed as JSON"),
        ),
    },
    ["--size 64 --density 0.3", "--sampler grid -o best.toml", "--compare"],
    fixed={'default_trials': 15},
)  # fmt: skip
