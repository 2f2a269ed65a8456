"""``cdma bench stage``: cycles and latency of quantiser and dequantiser, under Verilator."""

from __future__ import annotations

import argparse
from typing import Any

from cdma.hdl.spec.stage import STAGES
from cdma.options import add_block_options, stage_config_from
from cdma.rows import Columns, Row, add_row_options, column, show_rows

__all__ = ["register"]

_COLUMNS: Columns = {
    "block": column("block"),
    "numbers": lambda row: f"{row['lanes']} x {row['number']}",
    "integers": lambda row: f"{row['bits']} bits",
    "beats of a packet": column("beats"),
    "packets": column("packets"),
    "cycles": column("cycles"),
    "bound": column("bound"),
    "beats/cycle": column("beats_per_cycle", ".1%"),
    "bytes/cycle": column("bytes_per_cycle", ".2f"),
    "latency": column("latency"),
}


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "stage",
        help="bytes per cycle and latency of quantiser and dequantiser, under Verilator",
        description="Measure quantiser and dequantiser under Verilator with packets of 1 to 256 beats back to back: "
        "cycles beside the bound of the contract, beats and bytes of numbers per cycle, latency. The status is 1 if one "
        "takes longer than the bound.",
    )
    add_block_options(parser, STAGES[0])
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the data (default 1)")
    add_row_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.output import step_progress
    from cdma.verif.stream.stage.design import StageDesign
    from cdma.verif.stream.stage.measure import BEATS, measure_stage

    config = stage_config_from(arguments)
    rows: list[Row] = []
    with step_progress("building and measuring", len(STAGES) * len(BEATS)) as advance:
        for block in STAGES:
            rows += measure_stage(StageDesign(block, config), arguments.seed, advance)
    show_rows(arguments, rows, columns=_COLUMNS, texts=3, group=column("block"))
    return 0 if all(row["cycles"] <= row["bound"] for row in rows) else 1
