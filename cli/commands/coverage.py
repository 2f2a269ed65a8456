"""``cdma coverage``: what the regression reaches of a configuration's Verilog, and of the situations that matter."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.document import Part, Table
from cdma.base.errors import ParameterError
from cdma.command import Command, flag, option
from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.spec.stage import STAGES
from cdma.options import ENGINE, INIT, REGRESSION, block_command, jobs
from cdma.result import Result

if TYPE_CHECKING:
    from cdma.verif.campaigns.coverage.code import Coverage, Share
    from cdma.verif.simulator.simulate import Outcome

#: Missing statements and branches that are printed.
_SHOWN = 40


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.output import step_progress
    from cdma.verif.campaigns.coverage.code import annotate, collect
    from cdma.verif.campaigns.regression import plan_of

    from .verify import design_from

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
    written = annotate(found.code, arguments.annotate) if arguments.annotate else None
    shares = ", ".join(f"{value:.1f} % of {name}" for name, value in percents(found.to_dict()).items())
    left = [f"coverage: {sentence}" for sentence in found.failures if not sentence.startswith("the test ")]
    document = _tables(found, statements=True)
    return Result(found.to_dict(), _parts(found, written), found.passed, document, f"{shares}.", open=left)


def percents(told: Mapping[str, Any]) -> dict[str, float]:
    """What the tests reach, in percent, from the JSON of the command."""
    shares = {kind: share["percent"] for kind, share in told["code"]["all"].items() if kind != "block"}
    whole = [not goal["holes"] for goal in told["goals"]]
    return {**shares, "functional goals": 100 * sum(whole) / len(whole) if whole else 100.0}


def _cell(share: Share) -> str:
    """How many of how many, without those that are excluded."""
    if not share.total:
        return ""
    excluded = f" ({share.excluded} excluded)" if share.excluded else ""
    return f"{share.hit} / {share.total - share.excluded}{excluded}"


def _tables(found: Coverage, *, statements: bool) -> Iterator[Table]:
    """The blocks, the sum in the last row, and the goals: of each its statement, or how often its rarest bin was met."""
    from cdma.verif.campaigns.coverage.code import KINDS

    rows = [
        [row.block, *(_cell(share) for share in row.shares.values())]
        for row in (*found.code.blocks(), found.code.total())
    ]
    yield Table(("block", *KINDS), rows, range(1, 1 + len(KINDS)), [len(rows) - 1])
    goals = [
        [
            *(each.goal.name, str(len(each.counts)), str(each.hit)),
            each.goal.statement if statements else f"{min(each.counts.values(), default=0):,}",
        ]
        for each in found.reached
    ]
    yield Table(("goal", "bins", "met", "what" if statements else "fewest"), goals, range(1, 4))


def _parts(found: Coverage, written: Path | None) -> Iterator[Part | str]:
    yield f"{found.regression.design}, seed {found.regression.seed}"
    yield from _tables(found, statements=False)
    missing = found.code.missing()
    for point in missing[:_SHOWN]:
        yield f"never: {found.code.describe(point)}"
    if len(missing) > _SHOWN:
        yield f"and {len(missing) - _SHOWN} more (--annotate shows all)"
    reasons = {(each.reason, each.proof) for each in found.code.excluded.values()}
    for reason, proof in sorted(reasons):
        yield f"excluded: {reason}" + (f" (cdma prove {proof})" if proof else "")
    for failure in found.failures:
        yield f"failed: {failure}"
    if written:
        yield f"\nannotated: {written}"


_OPTIONS = {
    "coverage": (
        INIT,
        *REGRESSION,
        jobs("simulations"),
        option("--goal PERCENT", "of lines and of branches, less those excluded", 100.0),
        option("--annotate DIR?", "write the Verilog with counts into DIR (default coverage)", Path,
            const=Path("coverage")),
        flag("--json", "print everything as JSON"),
        flag("--markdown", "print the tables in Markdown"),
    )
}  # fmt: skip

COMMAND = Command(
    "coverage",
    "what the regression reaches: lines, branches and toggles of the Verilog, and functional goals",
    "Run the regression on a configuration that counts what is reached: lines, branches and toggles of each block, and the "
    "situations that must come up. The status is 1 if a test fails, if lines or branches are below the goal, if a "
    "functional goal is missed, or if an exclusion matches nothing or something that is reached.",
    commands=[
        block_command(name, f"the {name}", f"Coverage of the regression on a {name}.", _run, _OPTIONS, [""])
        for name in (*BLOCKS, *STAGES, ENGINE)
    ],
)
