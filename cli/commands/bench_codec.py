"""``cdma bench codec``: cycles and latency of the hardware against density, under Verilator."""

from __future__ import annotations

import argparse
import json
from typing import Any

from cdma.options import add_block_options, codec_config_from

__all__ = ["register"]

_SHAPE_OPTIONS = (
    "word_bits",
    "lanes",
    "window",
    "code_bits",
    "values",
    "runtime_values",
    "pipelined",
    "config",
)


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
    add_block_options(parser, "compressor")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the data (default 1)")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print the rows as JSON")
    output.add_argument("--markdown", action="store_true", help="print a Markdown table, as in the documents")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.hdl.spec.codecs import BLOCKS
    from cdma.output import status
    from cdma.verif.codec.design import CodecDesign
    from cdma.verif.codec.measure import measure_codec, standard_designs

    if any(getattr(arguments, name, None) is not None for name in _SHAPE_OPTIONS):
        config = codec_config_from(arguments)
        designs = [CodecDesign(block, config) for block in BLOCKS]
    else:
        designs = standard_designs()
    rows: list[dict[str, Any]] = []
    with status() as say:
        for design in designs:
            say(str(design))
            rows += measure_codec(design, arguments.seed)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    elif arguments.markdown:
        _markdown(rows)
    else:
        _table(rows)
    return 0 if all(row["cycles"] <= row["bound"] for row in rows) else 1


def _table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("direction")
    table.add_column("lanes x bits", justify="right")
    for title in ("density", "beats in", "beats out", "cycles", "bound", "bytes/cycle", "latency"):
        table.add_column(title, justify="right")
    previous = None
    for row in rows:
        shape = (row["direction"], row["lanes"], row["word_bits"])
        if previous is not None and shape != previous:
            table.add_section()
        previous = shape
        table.add_row(
            row["direction"],
            f"{row['lanes']} x {row['word_bits']}",
            f"{row['density']:.1f}",
            *(str(row[key]) for key in ("in_beats", "out_beats", "cycles", "bound")),
            f"{row['bytes_per_cycle']:.2f}",
            str(row["latency"]),
        )
    Console().print(table)


def _markdown(rows: list[dict[str, Any]]) -> None:
    """Raw bytes per cycle by density, a row per direction and shape, and how near it came to the bound."""
    groups: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["direction"], row["lanes"], row["word_bits"]), []).append(row)
    shown = (0.0, 0.2, 0.5, 0.8, 1.0)
    titles = ["direction", "lanes x bits", *(f"density {density:g}" for density in shown)]
    titles += ["first beat out, dense", "cycles under the bound, least"]
    print("| " + " | ".join(titles) + " |")
    print("|---|---|" + "---:|" * (len(titles) - 2))
    for (direction, lanes, bits), group in groups.items():
        by_density = {row["density"]: row for row in group}
        cells = [direction, f"{lanes} x {bits}"]
        cells += [f"{by_density[density]['bytes_per_cycle']:.2f}" for density in shown]
        cells += [
            f"{by_density[1.0]['latency']} cycles",
            str(min(row["bound"] - row["cycles"] for row in group)),
        ]
        print("| " + " | ".join(cells) + " |")
