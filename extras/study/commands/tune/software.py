"""``cdma study tune software``: a search over threads and chunk of the compiled codec on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError

from .searching import Compared, Plan, add_search_options, as_json, explore, plan, say_compared

if TYPE_CHECKING:
    from cdma.study.compare.launches import Launch, Timed
    from cdma.study.tuner.search import Kept

__all__ = ["register"]

#: A timing is not repeated to better than a few per cent.
_WITHIN = 0.05
_SHOWN = 5


def register(kinds: Any) -> None:
    """Adds the command's parser."""
    parser = kinds.add_parser(
        "software",
        help="threads and chunk of the compiled codec on this machine",
        description="Search threads and chunk of the compiled codec for the shortest time there and back of a tensor "
        "on this machine. Settings are timed one after the other and here, never on a Dask cluster: beside each other, or "
        "elsewhere, they would time something else. Needs the extra tune, but for --sampler random or grid.",
    )
    parser.add_argument("--size", type=float, default=32, metavar="MB", help="of the tensor (default 32)")
    parser.add_argument("--density", type=float, default=0.4, metavar="D", help="of the tensor (default 0.4)")
    add_search_options(parser, "settings", 15, _WITHIN)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write the setting as arguments of cdma.compress and cdma.decompress (.toml)",
    )
    parser.add_argument("--json", action="store_true", help="print the settings that were timed as JSON")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
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
    _show(arguments, kept, chosen, asked, compared)
    if arguments.output is not None:
        with replacing(arguments.output) as file:
            file.write(_toml(workload.question, chosen, _cost(kept.known[chosen]), asked).encode())
    return 0


def _cost(found: Timed | None) -> float:
    assert found is not None
    return found.seconds


def _show(
    arguments: argparse.Namespace,
    kept: Kept[Launch, Timed],
    chosen: Launch,
    asked: Plan,
    compared: Sequence[Compared],
) -> None:
    from cdma.output import new_table, output

    times = sorted((_cost(found), launch) for launch, found in kept.known.items())
    if arguments.json:
        rows = [
            {
                **asdict(launch),
                "seconds": seconds,
                "sampler": asked.chosen_by,
                "chosen": launch == chosen,
            }
            for seconds, launch in times
        ]
        print(as_json(rows, compared))
        return
    say_compared(compared)
    table = new_table("threads", "chunk, KB", "ms there and back", texts=0)
    few = [*times[:_SHOWN], times[-1]] if len(times) > _SHOWN else times
    for seconds, launch in few:
        table.add_row(str(launch.threads), str(launch.chunk_KB), f"{1e3 * seconds:.2f}")
    output().print(table)
    settings = ", ".join(f"{name}={value}" for name, value in chosen.settings().items())
    print(
        f"sampler {asked.chosen_by}: of {len(times)} settings that were timed the best is cdma.compress(array, {settings})"
    )


def _toml(question: str, chosen: Launch, seconds: float, asked: Plan) -> str:
    lines = [
        f"# cdma study tune software: {question}; sampler {asked.chosen_by}.",
        f"# There and back in {1e3 * seconds:.2f} ms. Arguments of cdma.compress and cdma.decompress.",
        *(f"{name} = {value}" for name, value in chosen.settings().items()),
    ]
    return "\n".join(lines) + "\n"
