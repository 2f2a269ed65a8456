"""``cdma bench stage``: cycles and latency of quantiser and dequantiser, under Verilator."""

from __future__ import annotations

import argparse

from cdma.command import ROWS, option
from cdma.hdl.spec.stage import STAGES
from cdma.options import block_command, stage_config_from
from cdma.result import Columns, Result, Row, column, rows_result

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


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.output import step_progress
    from cdma.verif.stream.stage.design import StageDesign
    from cdma.verif.stream.stage.measure import BEATS, measure_stage

    config = stage_config_from(arguments)
    rows: list[Row] = []
    with step_progress("building and measuring", len(STAGES) * len(BEATS)) as advance:
        for block in STAGES:
            rows += measure_stage(StageDesign(block, config), arguments.seed, advance)
    holds = all(row["cycles"] <= row["bound"] for row in rows)
    return rows_result(rows, _COLUMNS, 3, column("block"), holds=holds)


COMMAND = block_command(
    "quantiser",
    "bytes per cycle and latency of quantiser and dequantiser, under Verilator",
    "Measure quantiser and dequantiser under Verilator with packets of 1 to 256 beats back to back: cycles beside the bound "
    "of the contract, beats and bytes of numbers per cycle, latency. The status is 1 if one takes longer than the bound.",
    _run,
    {
        "": (
            option("--seed N", "of the data", 1),
            ROWS,
        ),
    },
    ["", "--number bf16 --bits 4 --lanes 16"],
    name="stage",
)  # fmt: skip
