"""``cdma verify engine``: the engine's regression on the user's own configuration, under Verilator."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

from cdma.options import ENGINE, add_block_options, engine_config_from

__all__ = ["register"]


def register(blocks: Any) -> None:
    """Adds the block's parser."""
    block = blocks.add_parser(
        "engine",
        help="the engine, between two memories",
        description="Run the engine, with registers and rings or (--no-registers) driven by streams, between two "
        "memories of cocotbext-axi, with random back-pressure, latency and errors, guard bytes around every destination, "
        "and a protocol checker on every port on every cycle.",
    )
    add_block_options(block, ENGINE)
    group = block.add_argument_group("regression")
    group.add_argument(
        "--no-init", dest="init", action="store_false", help="the Verilog without initial values"
    )
    group.add_argument("--tests", nargs="+", metavar="NAME", help="only these tests (see --list)")
    group.add_argument("--list", action="store_true", help="list the tests, and stop")
    group.add_argument("--seed", type=int, default=1, metavar="N", help="of all random choices (default 1)")
    group.add_argument(
        "--transfers",
        type=int,
        default=1000,
        metavar="N",
        help="random descriptors of the longest test; others take a share (default 1000)",
    )
    group.add_argument("--waves", type=Path, metavar="FILE", help="write a VCD of the run")
    group.add_argument("--json", action="store_true", help="print the results as JSON")
    block.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    config = engine_config_from(arguments)

    from cdma.hdl.spec.errors import ParameterError
    from cdma.output import status
    from cdma.verif.engine.design import EngineDesign
    from cdma.verif.engine.regression import tests_for, verify_engine

    design = EngineDesign(config, arguments.init)
    known = tests_for(design)
    if arguments.list:
        print(json.dumps(known) if arguments.json else "\n".join(known))
        return 0
    if arguments.transfers < 1:
        raise ParameterError(
            f"transfers is {arguments.transfers}; a regression that moves nothing proves nothing"
        )
    tests = tuple(arguments.tests or known)
    for test in tests:
        if test not in known:
            raise ParameterError(f"tests has {test!r}; the tests of this engine are {', '.join(known)}")
    with status() as say:
        say("building the engine and its simulation")
        outcomes = verify_engine(
            design,
            tests,
            seed=arguments.seed,
            transfers=arguments.transfers,
            waves=arguments.waves,
            report=lambda outcome: say(f"{outcome.test} {'failed' if outcome.failure else 'passed'}"),
        )
    passed = all(outcome.failure is None for outcome in outcomes)
    if arguments.json:
        rows = [{k: v for k, v in dataclasses.asdict(outcome).items() if k != "log"} for outcome in outcomes]
        print(json.dumps({"passed": passed, "seed": arguments.seed, "tests": rows}, indent=2))
        return 0 if passed else 1

    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("test")
    table.add_column("result")
    for name in ("transfers", "cycles", "checks", "seconds"):
        table.add_column(name, justify="right")
    for outcome in outcomes:
        table.add_row(
            outcome.test,
            "[red]failed[/]" if outcome.failure else "[green]passed[/]",
            *(f"{number:,}" for number in (outcome.packets, outcome.cycles, outcome.checks)),
            f"{outcome.seconds:.1f}",
        )
    Console().print(table)
    for outcome in outcomes:
        if outcome.failure:
            print(f"\n{outcome.test} failed: {outcome.failure}")
    return 0 if passed else 1
