"""``cdma bench codec``: cycles and latency of the hardware against density, under Verilator."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from cdma.hdl.spec.codecs import BLOCKS
from cdma.options import add_block_options, codec_config_from, settings_given

from .rows import Columns, Row, add_row_options, show_rows

__all__ = ["register"]

_COLUMNS: Columns = {
    "direction": lambda row: row["direction"],
    "lanes x bits": lambda row: _shape(row),
    "density": lambda row: f"{row['density']:.1f}",
    "beats in": lambda row: str(row["in_beats"]),
    "beats out": lambda row: str(row["out_beats"]),
    "cycles": lambda row: str(row["cycles"]),
    "bound": lambda row: str(row["bound"]),
    "bytes/cycle": lambda row: f"{row['bytes_per_cycle']:.2f}",
    "latency": lambda row: str(row["latency"]),
}
#: The densities that the documents show.
_SHOWN = (0.0, 0.2, 0.5, 0.8, 1.0)


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "codec",
        help="the hardware's bytes per cycle and latency, under Verilator",
        description="Measure compressor and decompressor under Verilator at densities 0, 0.1 … 1: beats in "
        "and out, cycles beside the bound of the contract, latency. Without options of a format or of "
        "hardware, the standard shapes 8x32, 32x8, 16x16 and 32x32 (lanes x bits) are measured; with any, "
        "that one.",
    )
    add_block_options(parser, BLOCKS[0])
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the data (default 1)")
    add_row_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.output import step_progress
    from cdma.verif.codec.design import CodecDesign
    from cdma.verif.codec.measure import ROWS, measure_codec, standard_designs

    if settings_given(arguments):
        config = codec_config_from(arguments)
        designs = [CodecDesign(block, config) for block in BLOCKS]
    else:
        designs = standard_designs()
    rows: list[Row] = []
    with step_progress("building and measuring", ROWS * len(designs)) as advance:
        for design in designs:
            rows += measure_codec(design, arguments.seed, advance)
    show_rows(arguments, rows, columns=_COLUMNS, texts=2, group=_group, markdown=_markdown)
    return 0 if all(row["cycles"] <= row["bound"] for row in rows) else 1


def _shape(row: Row) -> str:
    return f"{row['lanes']} x {row['word_bits']}"


def _group(row: Row) -> tuple[str, str]:
    return row["direction"], _shape(row)


def _markdown(rows: Sequence[Row]) -> Iterator[Sequence[str]]:
    """Raw bytes per cycle by density, a row per direction and shape, and how near it came to the bound."""
    yield [
        *("direction", "lanes x bits"),
        *(f"density {density:g}" for density in _SHOWN),
        *("first beat out, dense", "cycles under the bound, least"),
    ]
    groups: dict[tuple[str, str], dict[float, Row]] = {}
    for row in rows:
        groups.setdefault(_group(row), {})[row["density"]] = row
    for titles, group in groups.items():
        rates = (f"{group[density]['bytes_per_cycle']:.2f}" for density in _SHOWN)
        slack = min(row["bound"] - row["cycles"] for row in group.values())
        yield [*titles, *rates, f"{group[1.0]['latency']} cycles", str(slack)]
