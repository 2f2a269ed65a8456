"""``cdma coverage``: what the regression reaches of a configuration's Verilog, and of the situations that matter."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.spec.stage import STAGES
from cdma.options import (
    ENGINE,
    add_block_options,
    add_init_option,
    add_jobs_option,
    add_regression_options,
)
from cdma.rows import Table, tell

if TYPE_CHECKING:
    from cdma.verif.campaigns.coverage.code import Coverage, Share
    from cdma.verif.simulator.simulate import Outcome

__all__ = ["register"]

#: Missing statements and branches that are printed.
_SHOWN = 40


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "coverage",
        help="what the regression reaches: lines, branches and toggles of the Verilog, and functional goals",
        description="Run the regression on a configuration that counts what is reached: lines, branches and toggles of "
        "each block, and the situations that must come up. The status is 1 if a test fails, if lines or branches are "
        "below the goal, if a functional goal is missed, or if an exclusion matches nothing or something that is reached.",
    )
    blocks = parser.add_subparsers(title="blocks", metavar="BLOCK", required=True)
    for name in (*BLOCKS, *STAGES, ENGINE):
        block = blocks.add_parser(
            name, help=f"the {name}", description=f"Coverage of the regression on a {name}."
        )
        _add_options(block, name)


def _add_options(block: argparse.ArgumentParser, name: str) -> None:
    add_block_options(block, name)
    group = block.add_argument_group("coverage")
    add_init_option(group)
    add_regression_options(group)
    add_jobs_option(group, "simulations")
    group.add_argument(
        "--goal",
        type=float,
        default=100.0,
        metavar="PERCENT",
        help="of lines and of branches, less those excluded (default 100)",
    )
    group.add_argument(
        "--annotate",
        nargs="?",
        type=Path,
        const=Path("coverage"),
        metavar="DIR",
        help="write the Verilog with counts, as text and HTML, into DIR (default coverage)",
    )
    group.add_argument("--json", action="store_true", help="print everything as JSON")
    group.add_argument("--markdown", action="store_true", help="print the tables in Markdown")
    block.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.output import step_progress
    from cdma.verif.campaigns.coverage.code import annotate, collect
    from cdma.verif.campaigns.regression import plan_of

    from .designs import design_from

    if not 0 <= arguments.goal <= 100:
        raise ParameterError(f"goal is {arguments.goal:g}; it must be 0 to 100 percent")
    design = design_from(arguments, init=arguments.init)
    with step_progress(
        "building and running", len(plan_of(design).choose(design, arguments.tests))
    ) as advance:

        def report(outcome: Outcome) -> None:
            advance(what=f"{outcome.test} {'failed' if outcome.failure else 'passed'}")

        found = collect(
            design,
            tests=arguments.tests,
            seed=arguments.seed,
            packets=arguments.packets,
            jobs=arguments.jobs,
            goal=arguments.goal,
            report=report,
        )
    written = annotate(found.code, arguments.annotate, str(design)) if arguments.annotate else []
    return tell(
        arguments,
        found.passed,
        json_of=found.to_dict,
        show=lambda: _show(found, written),
        markdown=lambda: _markdown(found),
    )


def _rows(found: Coverage) -> list[list[str]]:
    """The table of the blocks, the sum in the last row."""
    return [
        [row.block, *(_cell(share) for share in row.shares.values())]
        for row in (*found.code.blocks(), found.code.total())
    ]


def _cell(share: Share) -> str:
    """How many of how many, without those that are excluded."""
    if not share.total:
        return ""
    excluded = f" ({share.excluded} excluded)" if share.excluded else ""
    return f"{share.hit} / {share.total - share.excluded}{excluded}"


def _markdown(found: Coverage) -> str:
    from cdma.verif.campaigns.coverage.code import KINDS

    blocks = [[f"`{name}`", *cells] for name, *cells in _rows(found)]
    goals = [
        [each.goal.name, str(len(each.counts)), str(each.hit), each.goal.statement] for each in found.reached
    ]
    tables = (Table(("block", *KINDS), blocks), Table(("goal", "bins", "met", "what"), goals))
    return "\n\n".join(table.markdown() for table in tables)


def _show(found: Coverage, written: Sequence[Path]) -> None:
    from cdma.verif.campaigns.coverage.code import KINDS

    print(f"{found.regression.design}, seed {found.regression.seed}")
    rows = _rows(found)
    Table(("block", *KINDS), rows, lines=(len(rows) - 1,)).show()
    goals = [
        [each.goal.name, str(len(each.counts)), str(each.hit), f"{min(each.counts.values(), default=0):,}"]
        for each in found.reached
    ]
    Table(("goal", "bins", "met", "fewest"), goals).show()
    missing = found.code.missing()
    for point in missing[:_SHOWN]:
        print(f"never: {found.code.describe(point)}")
    if len(missing) > _SHOWN:
        print(f"and {len(missing) - _SHOWN} more (--annotate shows all)")
    reasons = {(each.reason, each.proof) for each in found.code.excluded.values()}
    for reason, proof in sorted(reasons):
        print(f"excluded: {reason}" + (f" (cdma prove {proof})" if proof else ""))
    for failure in found.failures:
        print(f"failed: {failure}")
    if written:
        print(f"\nannotated: {', '.join(map(str, written))}")
