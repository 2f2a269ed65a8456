"""``cdma study bench queue``: what ``--queue`` costs and brings."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cdma.command import ROWS, Command, option
from cdma.hdl.spec.codec import BLOCKS, CodecConfig
from cdma.hdl.spec.format import Format
from cdma.result import Columns, Result, Row, column, rows_result

#: Bits of a word and lanes: beats of 256 bits.
_SHAPES = ((32, 8), (16, 16), (8, 32))


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.output import status
    from cdma.study.compare.queue_rates import queue_rates

    rows: list[Row] = []
    with status() as say:
        for block, (word_bits, lanes) in itertools.product(BLOCKS, _SHAPES):
            for queue in (0, 1, 2) if block == "compressor" else (0, 2):
                config = CodecConfig(Format(word_bits), lanes, queue=queue)
                say(f"{block} {config.summary()}")
                row: Row = {"block": block, "word_bits": word_bits, "lanes": lanes, "queue": queue}
                row |= asdict(queue_rates(block, config, arguments.seed))
                if arguments.liberty:
                    row |= _area(block, config, arguments.liberty)
                rows.append(row)
    return rows_result(rows, _columns(rows), 3, _group)


def _area(block: str, config: CodecConfig, liberty: list[Path]) -> Row:
    """Area and period, plain and with gated clocks."""
    from cdma.synth.asic.library.liberty import load_libraries
    from cdma.synth.asic.measure import measure_block
    from cdma.synth.asic.recipe import Options

    library = load_libraries(liberty)
    options = Options(clock_gating=library.clock_gate is not None)
    measured = measure_block(block, config, library, options)
    return {
        "kge": measured.plain.kge,
        "kge_clock_gating": measured.gated and measured.gated.kge,
        "period_ns": measured.plain.period_ns,
    }


def _columns(rows: Sequence[Row]) -> Columns:
    columns: dict[str, Any] = {
        "block": column("block"),
        "lanes x bits": _shape,
        "queue": column("queue"),
    }
    if "kge" in rows[0]:
        columns |= {
            "kGE": column("kge", ".2f"),
            "clock gating": column("kge_clock_gating", ".2f"),
            "period, ns": column("period_ns", ".3f"),
        }
    columns["activations"] = column("activations", ".2%")
    columns["least"] = column("least", ".1%")
    for density in rows[0]["random"]:
        columns[f"random {density}"] = lambda row, density=density: f"{row['random'][density]:.2%}"
    columns["worst"] = column("worst", ".1%")
    return columns


def _group(row: Row) -> str:
    return f"{row['block']} {_shape(row)}"


def _shape(row: Row) -> str:
    return f"{row['lanes']} x {row['word_bits']}"


COMMAND = Command(
    "queue",
    "throughput and area of the codecs by --queue",
    "Compare codecs with --queue 0, 1 and 2 (decompressors with 0 and 1 are the same): the share of the full throughput "
    "that each keeps, on the recorded activations, on the tensor of them that suffers most, on random words and on the "
    "worst windows; and, with a library, area and period. The cycles are those of the model that the regression checks the "
    "hardware against.",
    _run,
    {
        "": (
            option("--liberty FILE+", "measure area and period on this library", Path),
            option("--seed N", "of the random words", 1),
            ROWS,
        ),
    },
    [""],
)  # fmt: skip
