"""``cdma bench units``: how busy engines with several units keep the link, under Verilator."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.command import ROWS, option
from cdma.commands.verify import design_from, with_rings
from cdma.options import block_command, check_between, check_densities
from cdma.result import Columns, Result, Row, column, rows_result

from .engine import case_options, check_latencies

if TYPE_CHECKING:
    from cdma.verif.engine.design import EngineDesign

_DIRECTIONS = ("offload", "prefetch")

_COLUMNS: Columns = {
    "direction": column("direction"),
    "literals": column("pattern"),
    "units": column("units"),
    "density": column("density", ".3f"),
    "ratio": column("ratio", ".2f"),
    "bytes": column("bytes", ","),
    "cycles": column("cycles", ","),
    "bound": column("bound", ","),
    "of the bound": column("share", ".1%"),
    "link": column("link_utilisation", ".1%"),
}


def _run(arguments: argparse.Namespace) -> Result:
    rows = _measure(arguments) if arguments.rows is None else _read(arguments.rows)
    rows.sort(key=lambda row: (row["direction"], row["pattern"] != "scattered", row["pattern"]))
    return rows_result(rows, _COLUMNS, 2, lambda row: (row["direction"], row["pattern"]))


def _measure(arguments: argparse.Namespace) -> list[Row]:
    _check(arguments)
    designs = list(_designs(arguments))

    from cdma.output import step_progress
    from cdma.verif.engine.measure import measure_engine, unit_row

    wanted = [_cases(arguments, design) for design in designs]
    rows: list[Row] = []
    with step_progress("building and measuring", sum(map(len, wanted))) as advance:
        for design, cases in zip(designs, wanted, strict=True):
            rows += [unit_row(design.config, row) for row in measure_engine(design, cases, advance)]
    return rows


def _read(path: Path) -> list[Row]:
    from cdma.base.toml_table import read_json

    return [{name: row.get(name) for name in row.names()} for row in read_json(path).rows("units")]


def _check(arguments: argparse.Namespace) -> None:
    check_between("cycles", arguments.cycles, 256, 1 << 20)
    check_latencies("memory-latency is", [arguments.memory_latency])
    check_densities(arguments.densities or ())
    if arguments.unit_counts is not None and arguments.units is not None:
        raise ParameterError("units and unit-counts are both given; either says what is measured")


def _designs(arguments: argparse.Namespace) -> Iterator[EngineDesign]:
    """An engine for each number of units."""
    from cdma.verif.engine.measure import UNITS

    counts = [arguments.units] if arguments.units is not None else arguments.unit_counts or UNITS
    for count in counts:
        arguments.units = count
        yield with_rings(design_from(arguments))


def _cases(arguments: argparse.Namespace, design: EngineDesign) -> list[dict[str, Any]]:
    """The cases that are asked for."""
    from cdma.verif.engine.measure import PATTERNS, UNIT_DENSITIES, unit_cases

    patterns = PATTERNS
    if arguments.patterns is not None:
        patterns = ("scattered", *(name.replace("-", " ") for name in arguments.patterns))
    return unit_cases(
        design.config,
        arguments.densities or UNIT_DENSITIES,
        directions=arguments.directions or _DIRECTIONS,
        patterns=patterns,
        cycles=arguments.cycles,
        latency=arguments.memory_latency,
    )


COMMAND = block_command(
    "engine",
    "how busy engines with several units keep the link, under Verilator",
    "Move one tensor through engines of several units, between memories that take and give a beat per cycle at each port "
    "after a fixed latency. The link is the host port; its utilisation is compressed bytes / host port width / cycles, from "
    "the first read address to the last write response. The bound is the cycles that the link needs for the compressed "
    "bytes, or all device ports together for the raw bytes.",
    _run,
    {
        "cases": (
            option("--unit-counts N+", "measure an engine for each of these numbers of units (default: 1 2 4 6 8, or that "
                "of --units)", int),
            *case_options(", which are anywhere (default: 10 from 0 to 1; between them those at which the ratio of the "
                "default format is 8, 6, 4, 2 and 1)", _DIRECTIONS),
            option("--patterns P*", "besides, literals in every word of some stripes alone: of each second one "
                "(alternating), or of one unit and in the second half of another one (one-unit); default "
                "both", choices=("alternating", "one-unit")),
            option("--cycles N", "what the bound of a row is to be, about, by the size of its tensor", 16384),
            option("--memory-latency N", "cycles", 100),
            option("--rows FILE", "measure nothing, and show the rows that 'cdma study model measure units' wrote to "
                "FILE", Path),
        ),
        "": (ROWS,),
    },
    ["--unit-counts 2 4 --densities 0.5"],
    name="units",
)  # fmt: skip
