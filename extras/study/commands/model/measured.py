"""``cdma study model residuals`` and ``pictures``: the model beside measured steps, and what these look like."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from cdma.command import ROWS, Command, option
from cdma.result import Columns, Result, column, rows_result

from .question import ASSUMPTIONS, densities_named

if TYPE_CHECKING:
    from cdma.study.system.measured import Measured, Residual
    from cdma.study.system.networks import Network

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


def _found(arguments: argparse.Namespace) -> tuple[list[Measured], list[Residual]]:
    """The rows of the files, and their residuals."""
    from cdma.study.system.assumptions import load_assumptions
    from cdma.study.system.machine import load_machine
    from cdma.study.system.measured import machine_of, read_measured, residuals

    rows = read_measured(arguments.files)
    found = residuals(
        rows,
        lambda card: load_machine(arguments.machine or machine_of(card)),
        load_assumptions(arguments.assumptions),
        densities_named(arguments.densities),
        network_for,
    )
    return rows, list(found)


def _residuals(arguments: argparse.Namespace) -> Result:
    from cdma.study.system.measured import residual_row

    _, found = _found(arguments)
    rows = [residual_row(one) for one in found]
    off = ", ".join(dict.fromkeys(one.network for one in found if one.off)) or "none"
    table = rows_result(rows, _RESIDUALS, 3, lambda row: (row["card"], row["network"]))
    return Result(rows, [*table.parts, f"off by more than 10 %: {off}"])


def _pictures(arguments: argparse.Namespace) -> Result:
    from cdma.files import ready_directory, write_folder
    from cdma.study.system.figures import pictures

    ready_directory(arguments.folder)
    write_folder(arguments.folder, pictures(*_found(arguments)))
    return Result(None)


_ROWS = (
    option("files FILE+", "what cdma bench swap --json printed", Path),
    option("--machine M", "a name, or a TOML file (default: the machine with the card of a row)"),
    *ASSUMPTIONS,
)
RESIDUALS = Command(
    "residuals",
    "the model's steps beside measured ones",
    "Compare the model's step for each network, policy, batch and card with the measured one, all maps of the density that "
    "the measured ratio means. Once more it is compared with all computation as long as plain training was, and networks "
    "are named whose steps are then off by more than 10 %.",
    _residuals,
    {"": (*_ROWS, ROWS)},
    ["rows.json", "rows.json --machine mine.toml --json"],
)
PICTURES = Command(
    "pictures",
    "measured steps by policy, over time, by memory and beside the model",
    "Draw what cdma bench swap measured: steps by policy, a step over time raw and compressed (with --timeline there, of "
    "VGG-16 if it has one), images per second by memory (with several batches), and the model's steps over the measured "
    "ones.",
    _pictures,
    {"": (option("folder DIR", "where to write them, as SVG", Path), *_ROWS)},
    ["pictures rows.json"],
)


#: One image of digits, and the classes.
_SHAPE, _CLASSES = (1, 32, 32), 10


def network_for(name: str) -> Network | None:
    """The model's network for one that a bench trains: from its table, or a small one as PyTorch traces it. None of what the
    model has neither a table nor a module for."""
    from cdma.study.system.measured import modelled_name
    from cdma.study.system.networks import load_network
    from cdma.study.system.traced import trace
    from cdma.torch.networks import NETWORKS

    if name in NETWORKS:
        from cdma.torch.networks.networks import BUILDERS

        return trace(BUILDERS[name](_CLASSES), _SHAPE, False, 1, name, name)
    table = modelled_name(name)
    return None if table is None else load_network(table)
