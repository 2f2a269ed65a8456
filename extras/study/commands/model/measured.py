"""``cdma study model residuals`` and ``pictures``: the model beside measured steps, and what these look like."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.rows import Columns, add_row_options, column, show_rows

from .question import add_assumptions, densities_named

if TYPE_CHECKING:
    from cdma.study.system.measured import Measured, Residual

__all__ = ["register"]

_RESIDUALS: Columns = {
    "card": column("card"),
    "network": column("network"),
    "policy": column("policy"),
    "batch": column("batch"),
    "measured ms": column("measured_ms", ".1f"),
    "model ms": column("predicted_ms", ".1f"),
    "residual": column("residual", "+.1%"),
    "with plain's ms": column("paced_ms", ".1f"),
    "its residual": column("paced_residual", "+.1%"),
}


def register(modes: Any) -> None:
    """Adds the parsers."""
    parser = modes.add_parser(
        "residuals",
        help="the model's steps beside measured ones",
        description="Compare the model's step for each network, policy, batch and card with the measured one, all maps of "
        "the density that the measured ratio means. Once more it is compared with all computation as long as plain "
        "training was, and networks are named whose steps are then off by more than 10 %.",
    )
    _add_rows(parser)
    add_row_options(parser)
    parser.set_defaults(run=_residuals)
    parser = modes.add_parser(
        "pictures",
        help="measured steps by policy, over time, by memory and beside the model",
        description="Draw what cdma bench swap measured: steps by policy, a step over time raw and compressed (with "
        "--timeline there, of VGG-16 if it has one), images per second by memory (with several batches), and the model's "
        "steps over the measured ones.",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where to write them, as SVG")
    _add_rows(parser)
    parser.set_defaults(run=_pictures)


def _add_rows(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="what cdma bench swap --json printed"
    )
    parser.add_argument(
        "--machine", metavar="M", help="a name, or a TOML file (default: the machine with the card of a row)"
    )
    add_assumptions(parser)


def _found(arguments: argparse.Namespace) -> tuple[list[Measured], list[Residual]]:
    """The rows of the files, and their residuals."""
    from cdma.study.system.assumptions import load_assumptions
    from cdma.study.system.machine import load_machine
    from cdma.study.system.measured import machine_of, read_measured, residuals
    from cdma.study.training.modelled import network_for

    rows = read_measured(arguments.files)
    found = residuals(
        rows,
        lambda card: load_machine(arguments.machine or machine_of(card)),
        load_assumptions(arguments.assumptions),
        densities_named(arguments.densities),
        network_for,
    )
    return rows, list(found)


def _residuals(arguments: argparse.Namespace) -> int:
    from cdma.study.system.measured import residual_row

    _, found = _found(arguments)
    rows = [residual_row(one) for one in found]
    show_rows(arguments, rows, columns=_RESIDUALS, texts=3, group=lambda row: (row["card"], row["network"]))
    if not arguments.json:
        off = dict.fromkeys(one.network for one in found if one.off)
        print(f"off by more than 10 %: {', '.join(off) or 'none'}")
    return 0


def _pictures(arguments: argparse.Namespace) -> int:
    from cdma.files import ready_directory, write_folder
    from cdma.study.system.figures import pictures

    ready_directory(arguments.folder)
    write_folder(arguments.folder, pictures(*_found(arguments)))
    return 0
