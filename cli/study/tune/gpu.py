"""``cdma tune gpu``: a search over how a kernel of the codec is launched on this card."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.presets import PRESETS
from cdma.options import check_between

from .searching import add_search_options, as_json, explore, plan, say_compared

if TYPE_CHECKING:
    from cdma.sim.study.compare.card_launches import Timed

__all__ = ["register"]

#: A timing is not repeated to better than a few per cent.
_WITHIN = 0.03
_SHOWN = 5


def register(kinds: Any) -> None:
    """Adds the command's parser."""
    parser = kinds.add_parser(
        "gpu",
        help="how a kernel of the codec is launched on this card",
        description="Search warps, windows of a step, steps side by side and registers of a kernel of the codec for the "
        "shortest time on this card (CSWAP's Algorithm 1). Each plan that is tried must give the right bytes. With --keep "
        "programs use the best from then on. Needs the extras gpu and, but for --sampler random or grid, tune.",
    )
    parser.add_argument(
        "--kernel", choices=("pack", "unpack"), default="pack", help="compress or decompress (default pack)"
    )
    parser.add_argument(
        "--format", choices=PRESETS, default="zvc32", metavar="NAME", help="the format (default zvc32)"
    )
    parser.add_argument("--size", type=float, default=256, metavar="MIB", help="of the tensor (default 256)")
    parser.add_argument("--density", type=float, default=0.5, metavar="D", help="of the tensor (default 0.5)")
    add_search_options(parser, "plans", 25, _WITHIN)
    parser.add_argument("--keep", action="store_true", help="have programs use the best plan")
    parser.add_argument("--json", action="store_true", help="print the plans that were timed as JSON")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.files import ready_file
    from cdma.output import new_table, output
    from cdma.sim.gpu.extras import kernels_in
    from cdma.sim.study.tuner.evaluations import Kept

    check_between("size", arguments.size, 1 / 64, 1 << 16)
    if not 0 <= arguments.density <= 1:
        raise ParameterError(f"density is {arguments.density:g}; it must be 0 to 1")
    if arguments.cache is not None:
        ready_file(arguments.cache, (".jsonl",))
    plan_type = kernels_in("plans").Plan
    from cdma.sim.study.compare.card_launches import Timed, Workload, plan_space

    space = plan_space(arguments.kernel)
    asked = plan(arguments, space)
    workload = Workload(arguments.kernel, Format.preset(arguments.format), arguments.size, arguments.density)
    kept = Kept((plan_type, Timed), workload.question, workload.timed, arguments.cache)
    compared = explore(kept, space, _cost, asked, _WITHIN)
    times = sorted((_cost(found), each) for each, found in kept.known.items())
    least, chosen = times[0]
    if least == math.inf:
        raise ParameterError(
            "none of the plans that were tried runs on this card; more --trials may find one"
        )
    file = workload.keep(chosen) if arguments.keep else None
    if arguments.json:
        rows = [
            {**asdict(each), "seconds": None if seconds == math.inf else seconds, "chosen": each == chosen}
            for seconds, each in times
        ]
        print(as_json(rows, compared))
        return 0
    say_compared(compared)
    table = new_table("warps", "chunks", "unroll", "registers", "ms", texts=0)
    for seconds, each in times[:_SHOWN]:
        table.add_row(*map(str, asdict(each).values()), f"{1e3 * seconds:.3f}")
    output().print(table)
    print(f"sampler {asked.chosen_by}: the best of {len(times)} plans of {workload.question}")
    if file is not None:
        print(f"kept in {file}")
    return 0


def _cost(found: Timed | None) -> float:
    return math.inf if found is None else found.seconds
