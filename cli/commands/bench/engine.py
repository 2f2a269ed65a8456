"""``cdma bench engine``: how busy the engine keeps its ports, under Verilator."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cdma.commands.designs import design_from, with_rings
from cdma.hdl.spec.errors import ParameterError
from cdma.options import ENGINE, add_block_options

from .rows import Columns, Row, add_row_options, show_rows

__all__ = ["register"]

_COLUMNS: Columns = {
    "direction": lambda row: _label(row),
    "mode": lambda row: row["mode"],
    "density": lambda row: f"{row['density']:.2f}",
    "bytes": lambda row: f"{row['bytes']:,}",
    "latency": lambda row: str(row["memory_latency"]),
    "descriptors": lambda row: str(row["descriptors"]),
    "cycles": lambda row: f"{row['cycles']:,}",
    "bytes/cycle": lambda row: f"{row['bytes_per_cycle']:.2f}",
    "utilisation": lambda row: f"{row['utilisation']:.1%}",
}


def register(subparsers: Any) -> None:
    """Adds the bench's parser."""
    parser = subparsers.add_parser(
        "engine",
        help="the engine's bytes per cycle and utilisation of its ports, under Verilator",
        description="Move tensors through the engine, with registers and rings, between memories that take and give "
        "a beat per cycle after a fixed latency. Utilisation is max(raw bytes / device port width, compressed bytes "
        "/ host port width) / cycles, from the first read address to the last write response.",
    )
    add_block_options(parser, ENGINE)
    group = parser.add_argument_group("cases")
    group.add_argument(
        "--densities",
        type=float,
        nargs="+",
        metavar="D",
        help="shares of literals (default 0 0.25 0.5 0.75 1)",
    )
    group.add_argument(
        "--bytes", type=int, nargs="+", metavar="N", help="raw bytes of a tensor (default 4096 65536 1048576)"
    )
    group.add_argument(
        "--memory-latencies", type=int, nargs="+", metavar="N", help="cycles (default 10 100 300)"
    )
    add_row_options(parser)
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="also draw utilisation over density (.svg, .png)"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    design = with_rings(design_from(arguments))

    from cdma.output import step_progress
    from cdma.verif.engine.measure import measure_engine, rows_of

    wanted = _cases(arguments, design.config.format.word_bits // 8)
    with step_progress("building and measuring", rows_of(wanted)) as advance:
        rows = measure_engine(design, wanted, advance)
    if arguments.plot is not None:
        from .plot import plot_utilisation

        plot_utilisation(rows, arguments.plot)
    show_rows(arguments, rows, columns=_COLUMNS, texts=2, group=_label, markdown=_markdown)
    return 0


def _cases(arguments: argparse.Namespace, word: int) -> list[dict[str, Any]]:
    """The cases that are asked for; ``word`` is the bytes of one."""
    from cdma.verif.engine.measure import DENSITIES, LATENCIES, SIZES, cases

    densities = arguments.densities or DENSITIES
    sizes = arguments.bytes or SIZES
    latencies = arguments.memory_latencies or LATENCIES
    for density in densities:
        if not 0 <= density <= 1:
            raise ParameterError(f"densities has {density:g}; a density is from 0 to 1")
    for size in sizes:
        if size < word or size % word or size > 1 << 21:
            raise ParameterError(
                f"bytes has {size}; a tensor has whole words of {word} bytes, at most 2 MiB here"
            )
    for latency in latencies:
        if not 0 <= latency <= 10000:
            raise ParameterError(f"memory-latencies has {latency}; it must be from 0 to 10000 cycles")
    return cases(densities, sizes, latencies)


def _label(row: Row) -> str:
    return row["direction"] + (" (both at once)" if row["concurrent"] else "")


def _markdown(rows: Sequence[Row]) -> Iterator[Sequence[str]]:
    """The least utilisation over all densities, a line per direction, mode and size, a column per latency."""
    latencies = sorted({row["memory_latency"] for row in rows})
    yield ["direction", "mode", "bytes", *(f"latency {latency}" for latency in latencies)]
    groups: dict[tuple[str, str, int], dict[int, float]] = {}
    for row in rows:
        cells = groups.setdefault((_label(row), row["mode"], row["bytes"]), {})
        cells[row["memory_latency"]] = min(cells.get(row["memory_latency"], 1), row["utilisation"])
    for (label, mode, size), cells in groups.items():
        yield [label, mode, f"{size:,}", *(f"{cells[latency]:.1%}" for latency in latencies)]
