"""``cdma mutate``: faults put into a design one at a time, and which of them the regression finds."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.document import Part, Table
from cdma.base.errors import ParameterError
from cdma.command import Command, flag, option
from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.spec.stage import STAGES
from cdma.junit import JUNIT, Case, Suite, junit_file, write_junit
from cdma.options import DASK, ENGINE, check_one_or_more, jobs
from cdma.result import Result

from .verify import design_from

if TYPE_CHECKING:
    from cdma.verif.campaigns.mutation.campaign import Score, Verdict
    from cdma.verif.simulator.simulate import Design

#: Percent of the mutants that are not equivalent that the regression must find.
GOAL = 95.0
_DESIGNS = (*BLOCKS, *STAGES, ENGINE)


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.verif.campaigns.mutation.mutants import blocks_of

    check_one_or_more(arguments, "count", "jobs", "prove")
    if not 0 <= arguments.goal <= 100:
        raise ParameterError(f"goal is {arguments.goal:g}; it must be 0 to 100 percent")
    designs = {block: _design(block, arguments.config) for block in arguments.block}
    if arguments.list:
        names = [
            name for block, design in designs.items() for name in blocks_of(design) if name.startswith(block)
        ]
        return Result(names, names)
    junit = junit_file(arguments)
    result, suites = campaign(arguments, designs)
    write_junit(junit, suites)
    return result


def campaign(arguments: argparse.Namespace, designs: Mapping[str, Design]) -> tuple[Result, list[Suite]]:
    """Runs the mutants of each block of a design; also as suites for JUnit."""
    from cdma.verif.campaigns.mutation.campaign import SURVIVED, scores

    suites: list[Suite] = []
    rows: list[Any] = []
    parts: list[Iterator[Part | str]] = []
    answers, fails, open, tables = [], [], [], []
    for block, verdicts in _verdicts(arguments, designs):
        design = designs[block]
        suites.append(Suite(f"cdma mutate {block}", [_case(each) for each in verdicts], {"design": design}))
        *modules, whole = scores(verdicts, block)
        score = 100 * whole.score
        answers.append(f"{whole.killed} of {whole.mutants - whole.equivalent} found, {score:.1f} %.")
        if score < arguments.goal:
            fails.append(f"{score:.1f} % of the mutants were found; the goal is {arguments.goal:g} %")
        survivors = [each for each in verdicts if each.result == SURVIVED]
        open += [
            f"mutant of {each.mutant.block} survived: {each.mutant.what}; {each.reason}" for each in survivors
        ]
        rows.append(
            {
                **dataclasses.asdict(whole),
                "modules": [dataclasses.asdict(each) for each in modules],
                "surviving": [each.as_json() for each in survivors],
            }
        )
        parts.append(_parts(design, verdicts, block))
        tables.append(_table([*modules, whole]))
    return Result(rows, chain.from_iterable(parts), not fails, tables, " ".join(answers), fails, open), suites


def _verdicts(
    arguments: argparse.Namespace, designs: Mapping[str, Design]
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
                on_done=lambda verdict: advance(what=f"{verdict.mutant.block} {verdict.result}"),
            )
        yield from found.items()


def _design(block: str, config: Path | None) -> Design:
    """The design that a block belongs to."""
    name = block.partition(".")[0]
    if name not in _DESIGNS:
        raise ParameterError(
            f"block is {block!r}; it must be {', '.join(_DESIGNS)} or a block of one of them (see --list)"
        )
    return design_from(argparse.Namespace(block=name, config=config))


def _parts(design: Design, verdicts: list[Verdict], block: str) -> Iterator[Part | str]:
    from cdma.verif.campaigns.mutation.campaign import scores

    yield str(design)
    yield _table(scores(verdicts, block))
    text = design.verilog().splitlines()
    for verdict in verdicts:
        if verdict.result == "survived":
            mutant = verdict.mutant
            yield f"\nsurvived in {mutant.block}: {mutant.what}\n  {verdict.reason}"
            # The last place is that of the cell, the ones before it are those of its wires.
            line = int(mutant.place.split()[-1].partition(".")[0]) if mutant.place else 0
            if line:
                yield f"  line {line}: {text[line - 1].strip()}"


def _table(scores: Sequence[Score]) -> Table:
    from cdma.verif.campaigns.mutation.campaign import SCORE_TITLES

    rows = [score.cells() for score in scores]
    return Table(SCORE_TITLES, rows, range(1, len(SCORE_TITLES)), lines=(len(rows) - 1,))


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


COMMAND = Command(
    "mutate",
    "put faults into a design one at a time, and count those that the regression finds",
    "Draw mutants of the netlist (one bit of one port of one cell inverted or stuck), run the regression on each, and prove "
    "of those that it does not find whether any input could show them, and of a codec whether its ports keep the rules of "
    "streams. Verdicts are kept, so that an interrupted campaign continues. The status is 1 if a block has less than --goal "
    "percent of its real mutants found.",
    _run,
    {
        "": (
            option("--block NAME+", "designs, or blocks of them, such as compressor or engine.core.rings (default: all "
                "designs; see --list)", list(_DESIGNS)),
            option("--count N", "mutants of each block", 100),
            flag("--list", "list the blocks of the designs, and stop"),
            option("--seed N", "of what is drawn", 1),
            option("--config FILE", "TOML file of the design's parameters, as cdma generate takes it", Path),
            option("--packets N", "budget of the whole regression (default: that of cdma verify)", int),
            option("--prove SECONDS", "of each proof", 60),
            option("--goal PERCENT", "of the real mutants, for status 0", GOAL),
            jobs("mutants"),
            DASK,
            flag("--json", "print the counts, and every survivor, as JSON"),
            JUNIT,
        ),
    },
    ["--block compressor --count 20"],
)  # fmt: skip
