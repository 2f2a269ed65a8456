"""``cdma verify``: the regression on the user's own configuration, under Verilator or in four states."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.command import Command, flag, option
from cdma.junit import JUNIT, Case, Suite, junit_file, write_junit
from cdma.options import DASK, ENGINE, INIT, block_command, check_one_or_more, config_from, jobs
from cdma.result import Growing, Result, telling_at_the_end

from .regression_report import RegressionReport, keep_logs, outcome_row, outcome_titles, replay

if TYPE_CHECKING:
    from cdma.verif.campaigns.coverage.goals import Reached
    from cdma.verif.campaigns.regression import Regression
    from cdma.verif.engine.design import EngineDesign
    from cdma.verif.simulator.simulate import Design, Outcome


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.files import ready_directory
    from cdma.output import step_progress
    from cdma.synth.asic.paths import gate_netlist
    from cdma.verif.campaigns.regression import Regression, plan_of

    check_one_or_more(arguments, "jobs")
    gates = arguments.netlist == "gates"
    if arguments.liberty and not gates:
        raise ParameterError("--liberty is given without --netlist gates, which it is for")
    if arguments.scheduler is not None and arguments.waves is not None:
        raise ParameterError("--waves is for simulations on this machine; leave out --dask")
    design = design_from(arguments, init=arguments.init and not gates)
    points = plan_of(design).choose(design, arguments.tests)
    left_out = [point.name for point in plan_of(design).choose(design) if point not in points]
    if arguments.list:
        rows = [{"test": each.name, "stimulus": each.stimulus, "check": each.check} for each in points]
        width = max(len(point.name) for point in points)
        return Result(rows, [f"{point.name:{width}}  {point.statement}" for point in points])
    junit = junit_file(arguments)
    if arguments.waves is not None:
        ready_directory(arguments.waves)
    done: list[Outcome] = []
    head = f"{design}, seed {arguments.seed}"
    widths = [max(len(point.name) for point in points), len("99 failed")]
    table = Growing(arguments, outcome_titles(design), widths, head)

    def so_far() -> Iterator[str]:
        """What is known when it is ended from outside."""
        result = Regression(design, arguments.seed, arguments.packets or plan_of(design).budget, done)
        found = RegressionReport(result, None, keep_logs(result, arguments))
        failed = len(found.failures) or "none"
        yield f"\n{len(done)} of {len(points)} tests have run, the others were not waited for: {failed} failed"
        yield from found.failed(logs=arguments.log)

    with telling_at_the_end(arguments, so_far), step_progress("building and running", len(points)) as advance:

        def report(outcome: Outcome) -> None:
            advance(what=f"{outcome.test} {'failed' if outcome.failure else 'passed'}")
            done.append(outcome)
            table.add(outcome_row(outcome))

        given: dict[str, Any] = {
            "tests": arguments.tests,
            "seed": arguments.seed,
            "packets": arguments.packets,
            "four_state": arguments.simulator == "icarus",
            "verilog": gate_netlist(design.verilog(), design.top, arguments.liberty) if gates else None,
            "report": report,
        }
        result, reached = _simulate(design, arguments, given)
    found = RegressionReport(result, reached, keep_logs(result, arguments), left_out)
    write_junit(junit, [_suite(found, arguments)])
    table.add(found.total_row())
    return found.result_of(arguments)


def _simulate(
    design: Design, arguments: argparse.Namespace, given: Mapping[str, Any]
) -> tuple[Regression, Sequence[Reached] | None]:
    """Runs the tests, here or on other machines; what they reached is counted here alone."""
    from cdma.verif.campaigns.coverage.code import goals_of
    from cdma.verif.campaigns.coverage.goals import evaluate, read_samples
    from cdma.verif.campaigns.regression import verify, verify_on_cluster

    if arguments.scheduler is not None:
        return verify_on_cluster(design, arguments.scheduler, **given), None
    with tempfile.TemporaryDirectory(prefix="cdma-") as folder:
        samples = Path(folder)
        result = verify(design, jobs=arguments.jobs, waves=arguments.waves, samples=samples, **given)
        return result, evaluate(goals_of(design), read_samples(sorted(samples.iterdir())), design)


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


def _block(block: str, budget: str, counted: str, default: int, examples: Sequence[str]) -> Command:
    """The regression on a block; ``budget`` are the names of the option that says how many are ``counted``."""
    options = (
        INIT,
        option("--simulator", "icarus is slower and knows X: no output may be unknown after a reset", "verilator",
            choices=("verilator", "icarus")),
        option("--netlist", "run the tests on the Verilog, or on the gates that Yosys makes of it without initial values",
            "verilog", choices=("verilog", "gates")),
        option("--liberty FILE+", "gates of this library instead of gates of two inputs", Path, default=[]),
        option("--tests NAME+", "only these tests (see --list)"),
        flag("--list", "list the tests and what each is about, and stop"),
        option("--seed N", "of all random choices", 1),
        option(f"{budget} N", f"{counted} of the longest test; others take a share (default {default})", int,
            dest="packets"),
        jobs("simulations"),
        DASK,
        option("--waves DIR?", "write a VCD of every test into DIR (default waves)", Path, const=Path("waves")),
        flag("--log", "print the simulation's log of what fails"),
        flag("--json", "print the results as JSON"),
        JUNIT,
    )  # fmt: skip
    help, description = (
        ("the engine, between two memories", _ENGINE)
        if block == ENGINE
        else (f"the {block}", f"Run the regression on a {block}.")
    )
    return block_command(block, help, description, _run, {"regression": options}, examples)


_ENGINE = (
    "Run the engine, with registers and rings or (--no-registers) driven by streams, between two memories of "
    "cocotbext-axi, with random back-pressure, latency and errors, guard bytes around every destination, "
    "and a protocol checker on every port on every cycle."
)

COMMAND = Command(
    "verify",
    "run the regression on a configuration, under Verilator or Icarus Verilog",
    "Build the Verilog of a configuration, run the regression on it, and compare every bit with the golden model. The "
    "status is 1 if anything fails.",
    commands=[
        _block("compressor", "--packets --transfers", "random packets", 2000,
            ["", "--word-bits 16 --lanes 16 --waves", "--tests malformed --seed 7 --log"]),
        _block("decompressor", "--packets --transfers", "random packets", 2000, ["--list", "--no-init --simulator icarus"]),
        _block("quantiser", "--packets", "random packets", 1000, ["", "--number bf16 --bits 4 --lanes 16"]),
        _block("dequantiser", "--packets", "random packets", 1000, ["--no-init --simulator icarus"]),
        _block(ENGINE, "--transfers --packets", "random descriptors", 1000,
            ["--transfers 200 --jobs 2", "--no-registers --tests reset"]),
    ],
)  # fmt: skip


def design_from(arguments: argparse.Namespace, *, init: bool = True) -> Design:
    """The block of the arguments, with its parameters, with or without initial values."""
    from cdma.verif.campaigns.regression import design_of

    return design_of(arguments.block, config_from(arguments), init=init)


def with_rings(design: Design) -> EngineDesign:
    """The engine, refused where it has no rings, which measurements and waveforms drive."""
    from cdma.verif.engine.design import EngineDesign

    if not isinstance(design, EngineDesign) or not design.config.registers:
        raise ParameterError("registers is false; the runs drive rings, which come with the register block")
    return design
