"""``cdma mutate``: faults put into a design one at a time, and which of them the regression finds."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.spec.stage import STAGES
from cdma.junit import Case, Suite, add_junit_option, junit_file, write_junit
from cdma.options import ENGINE, add_jobs_option, add_spread_options, check_one_or_more
from cdma.rows import Table, tell

from .designs import design_from

if TYPE_CHECKING:
    from cdma.output import Advance
    from cdma.verif.campaigns.mutation.campaign import Verdict
    from cdma.verif.simulator.simulate import Design

__all__ = ["register"]

_DESIGNS = (*BLOCKS, *STAGES, ENGINE)


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "mutate",
        help="put faults into a design one at a time, and count those that the regression finds",
        description="Draw mutants of the netlist (one bit of one port of one cell inverted or stuck), run the regression "
        "on each, and prove of those that it does not find whether any input could show them, and of a codec whether its "
        "ports keep the rules of streams. Verdicts are kept, so that an interrupted campaign continues. The status is 1 if "
        "a block has less than --goal percent of its real mutants found.",
    )
    parser.add_argument(
        "--block",
        nargs="+",
        default=_DESIGNS,
        metavar="NAME",
        help="designs, or blocks of them, such as compressor or engine.core.rings (default: all designs; see --list)",
    )
    parser.add_argument(
        "--count", type=int, default=100, metavar="N", help="mutants of each block (default 100)"
    )
    parser.add_argument("--list", action="store_true", help="list the blocks of the designs, and stop")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of what is drawn (default 1)")
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="TOML file of the design's parameters, as cdma generate takes it",
    )
    parser.add_argument(
        "--packets",
        type=int,
        metavar="N",
        help="budget of the whole regression (default: that of cdma verify)",
    )
    parser.add_argument("--prove", type=int, default=60, metavar="SECONDS", help="of each proof (default 60)")
    parser.add_argument(
        "--goal",
        type=float,
        default=95.0,
        metavar="PERCENT",
        help="of the real mutants, for status 0 (default 95)",
    )
    add_jobs_option(parser, "mutants")
    add_spread_options(parser)
    parser.add_argument("--json", action="store_true", help="print the counts, and every survivor, as JSON")
    add_junit_option(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.verif.campaigns.mutation.campaign import scores

    check_one_or_more(arguments, "count", "jobs", "prove")
    if not 0 <= arguments.goal <= 100:
        raise ParameterError(f"goal is {arguments.goal:g}; it must be 0 to 100 percent")
    designs = {block: _design(block, arguments.config) for block in arguments.block}
    if arguments.list:
        _list(designs, arguments.json)
        return 0
    junit, suites = junit_file(arguments), []
    rows, reached = [], True
    for block, verdicts in _verdicts(arguments, designs):
        design = designs[block]
        suites.append(Suite(f"cdma mutate {block}", [_case(each) for each in verdicts], {"design": design}))
        found = scores(verdicts, block)
        reached &= 100 * found[-1].score >= arguments.goal
        if arguments.json:
            survivors = [each.as_json() for each in verdicts if each.result == "survived"]
            parts = [dataclasses.asdict(each) for each in found[:-1]]
            rows.append({**dataclasses.asdict(found[-1]), "modules": parts, "surviving": survivors})
        else:
            _show(design, verdicts, block)
    write_junit(junit, suites)
    return tell(arguments, reached, json_of=lambda: rows, show=lambda: None)


def _verdicts(
    arguments: argparse.Namespace, designs: dict[str, Design]
) -> Iterator[tuple[str, list[Verdict]]]:
    """The verdicts on each block. Blocks of one design are in one simulation."""
    from cdma.output import step_progress
    from cdma.verif.campaigns.mutation.campaign import run_campaign

    for design in dict.fromkeys(designs.values()):
        blocks = [block for block in designs if designs[block] == design]
        with step_progress(f"building {design.block}", arguments.count * len(blocks)) as advance:
            found = run_campaign(
                design,
                blocks,
                count=arguments.count,
                seed=arguments.seed,
                packets=arguments.packets,
                prove=arguments.prove,
                jobs=arguments.jobs,
                scheduler=arguments.scheduler,
                on_done=partial(_advance, advance),
            )
        yield from found.items()


def _advance(advance: Advance, verdict: Verdict) -> None:
    advance(what=f"{verdict.mutant.block} {verdict.result}")


def _design(block: str, config: Path | None) -> Design:
    """The design that a block belongs to."""
    name = block.partition(".")[0]
    if name not in _DESIGNS:
        raise ParameterError(
            f"block is {block!r}; it must be {', '.join(_DESIGNS)} or a block of one of them (see --list)"
        )
    return design_from(argparse.Namespace(block=name, config=config))


def _list(designs: dict[str, Design], as_json: bool) -> None:
    from cdma.verif.campaigns.mutation.mutants import blocks_of

    names = [
        name for block, design in designs.items() for name in blocks_of(design) if name.startswith(block)
    ]
    print(json.dumps(names, indent=2) if as_json else "\n".join(names))


def _show(design: Design, verdicts: list[Verdict], block: str) -> None:
    from cdma.verif.campaigns.mutation.campaign import SCORE_TITLES, scores

    rows = [score.cells() for score in scores(verdicts, block)]
    print(design)
    Table(SCORE_TITLES, rows, lines=(len(rows) - 1,)).show()
    text = design.verilog().splitlines()
    for verdict in verdicts:
        if verdict.result == "survived":
            mutant = verdict.mutant
            print(f"\nsurvived in {mutant.block}: {mutant.what}\n  {verdict.reason}")
            # The last place is that of the cell, the ones before it are those of its wires.
            line = int(mutant.place.split()[-1].partition(".")[0]) if mutant.place else 0
            if line:
                print(f"  line {line}: {text[line - 1].strip()}")


def _case(verdict: Verdict) -> Case:
    """A mutant for JUnit: one that nothing has found has failed, and one that is equivalent says nothing."""
    mutant = verdict.mutant
    survived, equivalent = (verdict.result == name for name in ("survived", "equivalent"))
    return Case(
        f"{mutant.what} ({mutant.command})",
        f"mutate.{mutant.block}",
        failure=f"survived: {verdict.reason}" if survived else "",
        skipped=f"equivalent: {verdict.reason}" if equivalent else "",
    )
