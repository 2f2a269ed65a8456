"""``cdma bench codec`` and ``cdma bench stage``: cycles and latency of codecs against density, and of quantiser and
dequantiser, under Verilator.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from cdma.command import ROWS, option
from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.spec.stage import STAGES
from cdma.options import block_command, codec_config_from, settings_given, stage_config_from
from cdma.result import Columns, Result, Row, column, rows_result

_COLUMNS: Columns = {
    "direction": column("direction"),
    "lanes x bits": lambda row: _shape(row),
    "density": column("density", "g"),
    "beats in": column("in_beats"),
    "beats out": column("out_beats"),
    "cycles": column("cycles"),
    "bound": column("bound"),
    "port": column("port", ".1%"),
    "bytes/cycle": column("bytes_per_cycle", ".2f"),
    "latency": column("latency"),
}


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.output import step_progress
    from cdma.verif.stream.codec.design import CodecDesign
    from cdma.verif.stream.codec.measure import cases, measure_codec, standard_designs

    if settings_given(arguments):
        config = codec_config_from(arguments)
        designs = [CodecDesign(block, config) for block in BLOCKS]
    else:
        designs = standard_designs()
    rows: list[Row] = []
    with step_progress(
        "building and measuring", sum(len(cases(design.config.format)) for design in designs)
    ) as advance:
        for design in designs:
            rows += measure_codec(design, arguments.seed, advance)
    holds = all(row["cycles"] <= row["bound"] for row in rows)
    return rows_result(rows, _columns(rows), 2, lambda row: (row["direction"], _shape(row)), holds=holds)


def _columns(rows: Sequence[Row]) -> Columns:
    """The columns of the table: the coverage after the density, for formats with a field."""
    columns = dict(_COLUMNS)
    if "coverage" in rows[0]:
        first = list(columns)[:3]
        later = {title: columns.pop(title) for title in list(columns)[3:]}
        columns = {title: columns[title] for title in first} | {"coverage": column("coverage", "g")} | later
    return columns


def _shape(row: Row) -> str:
    return f"{row['lanes']} x {row['word_bits']}"


_OPTIONS = {"": (option("--seed N", "of the data", 1), ROWS)}

CODEC = block_command(
    "compressor",
    "the hardware's bytes per cycle and latency, under Verilator",
    "Measure compressor and decompressor under Verilator at densities 0, 0.1 … 1: beats in and out, cycles beside the bound "
    "of the contract, share of them in which the busier port moves a beat, latency. A format of a field and zero is "
    "measured at densities of words that are not zero and at coverages, the share of those whose field is in the table. "
    "Without options of a format or of hardware, the standard shapes 8x32, 32x8, 16x16 and 32x32 (lanes x bits) are "
    "measured; with any, that one.",
    _run,
    _OPTIONS,
    ["", "--json"],
    name="codec",
)  # fmt: skip


_STAGE_COLUMNS: Columns = {
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


def _run_stage(arguments: argparse.Namespace) -> Result:
    from cdma.output import step_progress
    from cdma.verif.stream.stage.design import StageDesign
    from cdma.verif.stream.stage.measure import BEATS, measure_stage

    config = stage_config_from(arguments)
    rows: list[Row] = []
    with step_progress("building and measuring", len(STAGES) * len(BEATS)) as advance:
        for block in STAGES:
            rows += measure_stage(StageDesign(block, config), arguments.seed, advance)
    holds = all(row["cycles"] <= row["bound"] for row in rows)
    return rows_result(rows, _STAGE_COLUMNS, 3, column("block"), holds=holds)


STAGE = block_command(
    "quantiser",
    "bytes per cycle and latency of quantiser and dequantiser, under Verilator",
    "Measure quantiser and dequantiser under Verilator with packets of 1 to 256 beats back to back: cycles beside the bound "
    "of the contract, beats and bytes of numbers per cycle, latency. The status is 1 if one takes longer than the bound.",
    _run_stage,
    _OPTIONS,
    ["", "--number bf16 --bits 4 --lanes 16"],
    name="stage",
)  # fmt: skip
