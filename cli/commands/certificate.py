"""The certificate that ``cdma verify`` writes into a block's folder."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cdma.files import ready_directory, write_text
from cdma.options import check_one_or_more

if TYPE_CHECKING:
    from cdma.verif.campaigns.certificate.certificate import Certificate, Shown
    from cdma.verif.campaigns.mutation.campaign import Verdict
    from cdma.verif.regression import Regression
    from cdma.verif.simulator.design import Design


__all__ = ["add_certificate_options", "certify", "check_certificate_options"]

#: Seconds of each proof, and mutants, where the option says no number.
_SECONDS, _MUTANTS = 120, 100


def add_certificate_options(block: argparse.ArgumentParser) -> None:
    """Adds the options that :func:`certify` reads."""
    group = block.add_argument_group(
        "certificate", "what holds of this very Verilog and what does not, as Markdown and JSON"
    )
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="write NAME_certificate.md and .json into DIR, beside the Verilog that cdma generate wrote there, or with it",
    )
    group.add_argument(
        "--prove",
        type=int,
        nargs="?",
        const=_SECONDS,
        metavar="SECONDS",
        help=f"run the proofs about this configuration and its blocks, each so long at most (default {_SECONDS})",
    )
    group.add_argument(
        "--mutate",
        type=int,
        nargs="?",
        const=_MUTANTS,
        metavar="COUNT",
        help=f"run so many mutants of this Verilog (default {_MUTANTS})",
    )
    group.add_argument(
        "--coverage", action="store_true", help="run the tests once more and count what they reach"
    )


def check_certificate_options(arguments: argparse.Namespace) -> bool:
    """Whether a certificate is asked for; refuses what could not be written at the end."""
    check_one_or_more(arguments, "prove", "mutate")
    asked = arguments.coverage or any(
        getattr(arguments, name) is not None for name in ("output", "prove", "mutate")
    )
    if asked:
        ready_directory(arguments.output or Path())
    _check_tools(arguments)
    return asked


def _check_tools(arguments: argparse.Namespace) -> None:
    """Refuses proofs and mutants on a machine without what they need, before the tests have taken their time."""
    if arguments.prove is not None:
        from cdma.verif.proofs.tools import find_tools

        find_tools()
    if arguments.prove is not None or arguments.mutate is not None:
        from cdma.synth.yosys import find_abc, find_yosys

        find_yosys()
        find_abc()


def certify(regression: Regression, arguments: argparse.Namespace) -> tuple[Certificate, list[Path]]:
    """Runs the proofs and the mutants that are asked for, and writes the certificate of it all."""
    from cdma.verif.campaigns.certificate.certificate import Certificate
    from cdma.verif.campaigns.certificate.markdown import markdown

    design = regression.design
    folder = arguments.output or Path()
    text = design.verilog()
    file = folder / f"{design.top}.v"
    proofs, long_proofs = (None, []) if arguments.prove is None else _prove(design, arguments, folder)
    coverage, not_reached = _cover(design, arguments) if arguments.coverage else (None, [])
    certificate = Certificate(
        text=text,
        regression=regression,
        simulators=f"{arguments.simulator}, netlist: {arguments.netlist}",
        proofs=proofs,
        long_proofs=long_proofs,
        mutants=None if arguments.mutate is None else _mutate(design, arguments),
        coverage=coverage,
        not_reached=not_reached,
        other_text=file.is_file() and file.read_text(errors="replace") != text,
    )
    if not file.is_file():
        write_text(folder, file.name, text)
    name = f"{design.top}_certificate"
    told = json.dumps(certificate.as_json(), indent=2) + "\n"
    paths = [
        write_text(folder, f"{name}.md", markdown(certificate)),
        write_text(folder, f"{name}.json", told),
    ]
    return certificate, paths


def _prove(design: Design, arguments: argparse.Namespace, folder: Path) -> tuple[list[Shown], Sequence[str]]:
    """What became of the proofs, and the names of those that were not run."""
    from cdma.output import step_progress
    from cdma.verif.campaigns.certificate.parts import chosen_proofs, run_chosen

    chosen = chosen_proofs(design)
    with step_progress("proving", len(chosen)) as advance:
        shown = run_chosen(
            chosen,
            arguments.prove,
            folder / "counterexamples",
            lambda result: advance(what=f"{result.property} ({result.config}) {result.status}"),
        )
    return shown, chosen.long


def _mutate(design: Design, arguments: argparse.Namespace) -> list[Verdict]:
    from cdma.output import step_progress
    from cdma.verif.campaigns.mutation.campaign import run_campaign

    with step_progress("mutants", arguments.mutate) as advance:
        return run_campaign(
            design,
            design.block,
            count=arguments.mutate,
            seed=arguments.seed,
            packets=arguments.packets,
            jobs=arguments.jobs,
            scheduler=arguments.scheduler,
            on_done=lambda verdict: advance(what=f"{verdict.mutant.block} {verdict.result}"),
        )


def _cover(design: Design, arguments: argparse.Namespace) -> tuple[dict[str, float], list[str]]:
    from cdma.output import step_progress
    from cdma.verif.blocks import plan_of
    from cdma.verif.campaigns.certificate.parts import reached_by
    from cdma.verif.campaigns.coverage.collect import collect

    with step_progress("coverage", len(plan_of(design).choose(design, arguments.tests))) as advance:
        found = collect(
            design,
            tests=arguments.tests,
            seed=arguments.seed,
            packets=arguments.packets,
            jobs=arguments.jobs,
            report=lambda outcome: advance(what=outcome.test),
        )
    return reached_by(found)
