"""``cdma bench engine``: how busy the engine keeps its ports, under Verilator."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from cdma.options import ENGINE, add_block_options, engine_config_from

__all__ = ["register"]


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
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print the rows as JSON")
    output.add_argument("--markdown", action="store_true", help="print a Markdown table, as in the documents")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="also draw utilisation over density (.svg, .png)"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from cdma.hdl.spec.errors import ParameterError
    from cdma.verif.engine.design import EngineDesign
    from cdma.verif.engine.measure import DENSITIES, LATENCIES, SIZES, cases, measure_engine

    config = engine_config_from(arguments)
    if not config.registers:
        raise ParameterError("registers is false; the bench drives rings, which come with the register block")
    densities = arguments.densities or DENSITIES
    sizes = arguments.bytes or SIZES
    latencies = arguments.memory_latencies or LATENCIES
    word = config.format.word_bits // 8
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
    wanted = cases(densities, sizes, latencies)
    total = sum(2 if case["direction"] == "both" else 1 for case in wanted)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("building and measuring", total=total)
        rows = measure_engine(
            EngineDesign(config), wanted, lambda done: progress.update(task, completed=done)
        )
    if arguments.plot is not None:
        _plot(rows, arguments.plot)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    elif arguments.markdown:
        _markdown(rows)
    else:
        _table(rows)
    return 0


def _label(row: dict[str, Any]) -> str:
    return row["direction"] + (" (both at once)" if row["concurrent"] else "")


def _table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("direction", "mode"):
        table.add_column(title)
    for title in ("density", "bytes", "latency", "descriptors", "cycles", "bytes/cycle", "utilisation"):
        table.add_column(title, justify="right")
    previous = None
    for row in rows:
        if previous is not None and _label(row) != previous:
            table.add_section()
        previous = _label(row)
        table.add_row(
            _label(row),
            row["mode"],
            f"{row['density']:.2f}",
            f"{row['bytes']:,}",
            str(row["memory_latency"]),
            str(row["descriptors"]),
            f"{row['cycles']:,}",
            f"{row['bytes_per_cycle']:.2f}",
            f"{row['utilisation']:.1%}",
        )
    Console().print(table)


def _markdown(rows: list[dict[str, Any]]) -> None:
    """The least utilisation over all densities, a line per direction, mode and size, a column per latency."""
    latencies = sorted({row["memory_latency"] for row in rows})
    print("| direction | mode | bytes | " + " | ".join(f"latency {latency}" for latency in latencies) + " |")
    print("|---|---|---:|" + "---:|" * len(latencies))
    groups: dict[tuple[str, str, int], dict[int, float]] = {}
    for row in rows:
        cells = groups.setdefault((_label(row), row["mode"], row["bytes"]), {})
        cells[row["memory_latency"]] = min(cells.get(row["memory_latency"], 1), row["utilisation"])
    for (label, mode, size), cells in groups.items():
        shown = " | ".join(f"{cells[latency]:.1%}" for latency in latencies)
        print(f"| {label} | {mode} | {size:,} | {shown} |")


def _plot(rows: list[dict[str, Any]], path: Path) -> None:
    from cdma.files import replacing
    from cdma.hdl.spec.errors import CdmaError

    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise CdmaError("a plot needs matplotlib: install cdma[plot]") from None
    kind = path.suffix[1:]
    if kind not in ("svg", "png"):
        raise CdmaError(f"{path} has no ending .svg or .png; those are what can be drawn")
    chosen = [row for row in rows if row["mode"] == "zvc" and not row["concurrent"]]
    latencies = sorted({row["memory_latency"] for row in chosen})
    figure = Figure(figsize=(4 * len(latencies), 3.4), layout="constrained")
    axes = figure.subplots(1, len(latencies), sharey=True, squeeze=False)[0]
    for axis, latency in zip(axes, latencies, strict=True):
        lines: dict[tuple[str, int], list[tuple[float, float]]] = {}
        for row in chosen:
            if row["memory_latency"] == latency:
                line = lines.setdefault((row["direction"], row["bytes"]), [])
                line.append((row["density"], row["utilisation"]))
        for (direction, size), points in lines.items():
            style = "-" if direction == "offload" else "--"
            axis.plot(
                *zip(*sorted(points), strict=True), style, marker="o", label=f"{direction}, {size:,} bytes"
            )
        axis.set(title=f"memory latency {latency} cycles", xlabel="density", ylim=(0, 1.02))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("utilisation")
    axes[-1].legend(fontsize="small", loc="lower right")
    with replacing(path) as file:
        figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else None)
