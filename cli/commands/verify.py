"""``cdma verify``: the regression on the user's own configuration, under Verilator or in four states."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.spec.stage import STAGES
from cdma.junit import Case, Suite, add_junit_option, junit_file, write_junit
from cdma.options import (
    ENGINE,
    add_block_options,
    add_init_option,
    add_jobs_option,
    add_spread_options,
    check_one_or_more,
)
from cdma.rows import tell, telling_at_the_end

from .regression_report import RegressionReport, keep_logs, outcome_row, outcome_rows, replay

if TYPE_CHECKING:
    from cdma.verif.campaigns.coverage.goals import Reached
    from cdma.verif.campaigns.regression import Regression
    from cdma.verif.simulator.plan import TestPoint
    from cdma.verif.simulator.simulate import Design, Outcome

__all__ = ["register"]

#: The simulators; the second one has four states.
SIMULATORS = ("verilator", "icarus")
#: What the tests run on.
NETLISTS = ("verilog", "gates")

_ENGINE_DESCRIPTION = (
    "Run the engine, with registers and rings or (--no-registers) driven by streams, between two memories of "
    "cocotbext-axi, with random back-pressure, latency and errors, guard bytes around every destination, "
    "and a protocol checker on every port on every cycle."
)


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "verify",
        help="run the regression on a configuration, under Verilator or Icarus Verilog",
        description="Build the Verilog of a configuration, run the regression on it, and compare every bit "
        "with the golden model. The status is 1 if anything fails.",
    )
    blocks = parser.add_subparsers(title="blocks", metavar="BLOCK", required=True)
    for name in BLOCKS:
        block = blocks.add_parser(name, help=f"the {name}", description=f"Run the regression on a {name}.")
        _add_options(block, name, ["--packets", "--transfers"], "random packets", 2000)
    for name in STAGES:
        stage = blocks.add_parser(name, help=f"the {name}", description=f"Run the regression on a {name}.")
        _add_options(stage, name, ["--packets"], "random packets", 1000)
    engine = blocks.add_parser(
        ENGINE, help="the engine, between two memories", description=_ENGINE_DESCRIPTION
    )
    _add_options(engine, ENGINE, ["--transfers", "--packets"], "random descriptors", 1000)


def _add_options(
    block: argparse.ArgumentParser, name: str, budget: Sequence[str], counted: str, default: int
) -> None:
    """Adds all options; ``budget`` are the names of the one that says how many are ``counted``."""
    add_block_options(block, name)
    group = block.add_argument_group("regression")
    add_init_option(group)
    group.add_argument(
        "--simulator",
        choices=SIMULATORS,
        default=SIMULATORS[0],
        help="icarus is slower and knows X: no output may be unknown after a reset (default verilator)",
    )
    group.add_argument(
        "--netlist",
        choices=NETLISTS,
        default=NETLISTS[0],
        help="run the tests on the Verilog, or on the gates that Yosys makes of it without initial values (default verilog)",
    )
    group.add_argument(
        "--liberty",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="gates of this library instead of gates of two inputs",
    )
    group.add_argument("--tests", nargs="+", metavar="NAME", help="only these tests (see --list)")
    group.add_argument("--list", action="store_true", help="list the tests and what each is about, and stop")
    group.add_argument("--seed", type=int, default=1, metavar="N", help="of all random choices (default 1)")
    group.add_argument(
        *budget,
        dest="packets",
        type=int,
        metavar="N",
        help=f"{counted} of the longest test; others take a share (default {default})",
    )
    add_jobs_option(group, "simulations")
    add_spread_options(group)
    group.add_argument(
        "--waves",
        nargs="?",
        type=Path,
        const=Path("waves"),
        metavar="DIR",
        help="write a VCD of every test into DIR (default waves)",
    )
    group.add_argument("--log", action="store_true", help="print the simulation's log of what fails")
    group.add_argument("--json", action="store_true", help="print the results as JSON")
    add_junit_option(group)
    group.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="write a page with tests, speed, coverage and failures into FILE",
    )
    block.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma._version import __version__
    from cdma.files import ready_directory, ready_file, write_text
    from cdma.output import step_progress
    from cdma.synth.asic.paths import gate_netlist
    from cdma.verif.campaigns.regression import Regression, plan_of

    from .designs import design_from

    check_one_or_more(arguments, "jobs")
    gates = arguments.netlist == "gates"
    if arguments.liberty and not gates:
        raise ParameterError("--liberty is given without --netlist gates, which it is for")
    if arguments.scheduler is not None and arguments.waves is not None:
        raise ParameterError("--waves is for simulations on this machine; leave out --dask")
    design = design_from(arguments, init=arguments.init and not gates)
    points = plan_of(design).choose(design, arguments.tests)
    if arguments.list:
        _list(points, arguments.json)
        return 0
    junit = junit_file(arguments)
    if arguments.waves is not None:
        ready_directory(arguments.waves)
    if arguments.html is not None:
        ready_file(arguments.html)
    done: list[Outcome] = []
    head = f"{design}, seed {arguments.seed}"
    rows = outcome_rows(design, [point.name for point in points], head=head, shown=not arguments.json)

    def so_far() -> None:
        """What is known when it is ended from outside."""
        result = Regression(design, arguments.seed, arguments.packets or plan_of(design).budget, done)
        found = RegressionReport(result, None, keep_logs(result, arguments))
        failed = len(found.failures) or "none"
        print(
            f"\n{len(done)} of {len(points)} tests have run, the others were not waited for: {failed} failed"
        )
        found.show_failures(logs=arguments.log)

    with (
        telling_at_the_end(arguments, so_far),
        step_progress("building and running", len(points)) as advance,
    ):

        def report(outcome: Outcome) -> None:
            advance(what=f"{outcome.test} {'failed' if outcome.failure else 'passed'}")
            done.append(outcome)
            rows.add(outcome_row(outcome))

        given: dict[str, Any] = {
            "tests": arguments.tests,
            "seed": arguments.seed,
            "packets": arguments.packets,
            "four_state": arguments.simulator == "icarus",
            "verilog": gate_netlist(design.verilog(), design.top, arguments.liberty) if gates else None,
            "report": report,
        }
        result, reached = _simulate(design, arguments, given)
    planned = len(plan_of(design).choose(design)) if arguments.tests else None
    found = RegressionReport(result, reached, keep_logs(result, arguments), planned)
    write_junit(junit, [_suite(found, arguments)])
    if arguments.html is not None:
        write_text(arguments.html.parent, arguments.html.name, found.page(__version__))

    def show() -> None:
        rows.add(found.total_row())
        found.conclude(logs=arguments.log)

    return tell(arguments, result.passed, json_of=found.to_dict, show=show)


def _simulate(
    design: Design, arguments: argparse.Namespace, given: Mapping[str, Any]
) -> tuple[Regression, Sequence[Reached] | None]:
    """Runs the tests, here or on other machines; what they reached is counted here alone."""
    from cdma.verif.campaigns.campaign import verify_on_cluster
    from cdma.verif.campaigns.coverage.code import goals_of
    from cdma.verif.campaigns.coverage.goals import evaluate, read_samples
    from cdma.verif.campaigns.regression import verify

    if arguments.scheduler is not None:
        return verify_on_cluster(design, arguments.scheduler, **given), None
    with tempfile.TemporaryDirectory(prefix="cdma-") as folder:
        samples = Path(folder)
        result = verify(design, jobs=arguments.jobs, waves=arguments.waves, samples=samples, **given)
        return result, evaluate(goals_of(design), read_samples(sorted(samples.iterdir())), design)


def _list(points: Sequence[TestPoint], as_json: bool) -> None:
    if as_json:
        rows = [{"test": each.name, "stimulus": each.stimulus, "check": each.check} for each in points]
        print(json.dumps(rows, indent=2))
        return
    width = max(len(point.name) for point in points)
    for point in points:
        print(f"{point.name:{width}}  {point.statement}")


def _suite(report: RegressionReport, arguments: argparse.Namespace) -> Suite:
    """The regression for JUnit."""
    result, block = report.result, report.result.design.block
    cases = [
        Case(
            outcome.test,
            f"verify.{block}",
            outcome.seconds,
            failure=f"{outcome.failure}\nseed {result.seed}" if outcome.failure else "",
            replay=replay(result, outcome, arguments),
            log=outcome.log,
        )
        for outcome in result.outcomes
    ]
    told = {
        "design": result.design,
        "seed": result.seed,
        "simulator": arguments.simulator,
        "netlist": arguments.netlist,
    }
    return Suite(f"cdma verify {block}", cases, told)
