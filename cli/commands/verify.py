"""``cdma verify``: the regression on the user's own configuration, under Verilator."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.options import add_block_options, codec_config_from

from . import verify_engine

if TYPE_CHECKING:
    from cdma.verif.codec.regression import Regression
    from cdma.verif.simulator.simulate import Outcome

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "verify",
        help="run the regression on a configuration, under Verilator",
        description="Build the Verilog of a configuration, run the regression on it, and compare every bit "
        "with the golden model. The status is 1 if anything fails.",
    )
    blocks = parser.add_subparsers(title="blocks", metavar="BLOCK", required=True)
    for kind in ("compressor", "decompressor"):
        block = blocks.add_parser(kind, help=f"the {kind}", description=f"Run the regression on a {kind}.")
        add_block_options(block, kind)
        group = block.add_argument_group("regression")
        group.add_argument(
            "--no-init", dest="init", action="store_false", help="the Verilog without initial values"
        )
        group.add_argument("--tests", nargs="+", metavar="NAME", help="only these tests (see --list)")
        group.add_argument(
            "--list", action="store_true", help="list the tests and what each is about, and stop"
        )
        group.add_argument(
            "--seed", type=int, default=1, metavar="N", help="of all random choices (default 1)"
        )
        group.add_argument(
            "--packets",
            type=int,
            default=2000,
            metavar="N",
            help="random packets of the longest test; others take a share (default 2000)",
        )
        group.add_argument(
            "--jobs",
            type=int,
            default=os.cpu_count() or 1,
            metavar="N",
            help="simulations at once (default: one per processor)",
        )
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
        block.set_defaults(run=_run, kind=kind)
    verify_engine.register(blocks)


def _run(arguments: argparse.Namespace) -> int:
    config = codec_config_from(arguments)

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from cdma.verif.codec.design import CodecDesign
    from cdma.verif.codec.regression import choose_tests, verify

    design = CodecDesign(arguments.kind, config, arguments.init)
    points = choose_tests(design, arguments.tests)
    if arguments.list:
        _list(points, arguments.json)
        return 0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("building and running", total=len(points))

        def report(outcome: Outcome) -> None:
            state = "failed" if outcome.failure else "passed"
            progress.update(task, advance=1, description=f"{outcome.test} {state}")

        result = verify(
            design,
            tests=arguments.tests,
            seed=arguments.seed,
            packets=arguments.packets,
            jobs=arguments.jobs,
            waves=arguments.waves,
            report=report,
        )
    if arguments.json:
        print(json.dumps(result.to_dict(), indent=2))
    else:
        _show(result, arguments)
    return 0 if result.passed else 1


def _list(points: Any, as_json: bool) -> None:
    if as_json:
        print(json.dumps([{"test": point.name, "statement": point.statement} for point in points], indent=2))
        return
    width = max(len(point.name) for point in points)
    for point in points:
        print(f"{point.name:{width}}  {point.statement}")


def _show(result: Regression, arguments: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.table import Table

    from cdma.verif.codec.regression import replay_options

    console = Console()
    table = Table(
        title=f"{result.design}, seed {result.seed}", title_justify="left", box=None, pad_edge=False
    )
    table.add_column("test")
    table.add_column("result")
    for name in ("packets", "words", "cycles", "checks", "seconds"):
        table.add_column(name, justify="right")
    for outcome in result.outcomes:
        table.add_row(
            outcome.test,
            "[red]failed[/]" if outcome.failure else "[green]passed[/]",
            *(f"{getattr(outcome, name):,}" for name in ("packets", "words", "cycles", "checks")),
            f"{outcome.seconds:.1f}",
        )
    table.add_section()
    failed = [outcome for outcome in result.outcomes if outcome.failure]
    table.add_row(
        "all",
        f"[red]{len(failed)} failed[/]" if failed else "[green]passed[/]",
        *(f"{result.total(name):,}" for name in ("packets", "words", "cycles", "checks")),
        f"{sum(outcome.seconds for outcome in result.outcomes):.1f}",
    )
    console.print(table)
    for outcome in failed:
        print(f"\n{outcome.test} failed: {outcome.failure}")
        again = replay_options(result.design, outcome.test, result.seed, result.packets)
        print(f"  again, with waves: {again} --waves")
        if arguments.log and outcome.log:
            print(outcome.log)
    if arguments.waves:
        print(f"\nwaves: {arguments.waves}/*.vcd")
