"""The pictures of ``cdma bench engine --plot``, with ``--rows`` or without, and ``cdma bench units --plot``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from cdma.base.errors import ToolError, install_command
from cdma.files import replacing
from cdma.result import Row


def require_matplotlib() -> None:
    """Raises :class:`ToolError` where no plot can be drawn."""
    try:
        import_module("matplotlib")
    except ImportError:
        raise ToolError(f"matplotlib is not installed; it comes with: {install_command('plot')}") from None


def plot_utilisation(rows: Sequence[Row], path: Path) -> None:
    """Draws utilisation over density: a line per direction and size, a picture per latency of the memory."""
    chosen = [row for row in rows if row["mode"] == "zvc" and not row["concurrent"]]
    several = len({row["host_data_bits"] for row in chosen}) > 1
    latencies = sorted({row["memory_latency"] for row in chosen})
    figure, axes = _figure(len(latencies), sharey=True)
    for axis, latency in zip(axes, latencies, strict=True):
        lines: dict[tuple[str, int, int], list[tuple[float, float]]] = {}
        for row in chosen:
            if row["memory_latency"] == latency:
                line = lines.setdefault((row["direction"], row["bytes"], row["host_data_bits"]), [])
                line.append((row["density"], row["utilisation"]))
        for (direction, size, bits), points in lines.items():
            style = "-" if direction == "offload" else "--"
            ports = f", {bits} bits" if several else ""
            label = f"{direction}, {size:,} bytes{ports}"
            axis.plot(*zip(*sorted(points), strict=True), style, marker="o", label=label)
        axis.set(title=f"memory latency {latency} cycles", xlabel="density", ylim=(_floor(chosen), 1.005))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("utilisation")
    axes[-1].legend(fontsize="small", loc="lower right")
    _save(figure, path)


def plot_rows(rows: Sequence[Row], path: Path) -> None:
    """Draws utilisation over the bytes of a row, the least over densities, and what the memory can give: a line per
    direction, a picture per latency of the memory.
    """
    chosen = [row for row in rows if not row["concurrent"]]
    latencies = sorted({row["memory_latency"] for row in chosen})
    figure, axes = _figure(len(latencies), sharey=True)
    for axis, latency in zip(axes, latencies, strict=True):
        least: dict[str, dict[int, Row]] = {}
        for row in sorted(chosen, key=lambda row: -float(row["utilisation"])):
            if row["memory_latency"] == latency:
                least.setdefault(row["direction"], {})[row["row"]] = row
        for direction, of_rows in least.items():
            points = [of_rows[size] for size in sorted(of_rows)]
            sizes = [row["row"] for row in points]
            axis.plot(sizes, [row["utilisation"] for row in points], marker="o", label=direction)
        given = [row["utilisation"] / row["of_memory"] for row in points]
        axis.plot(sizes, given, ":", color="grey", label="what the memory can give")
        axis.set_xscale("log", base=2)
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.set(title=f"memory latency {latency} cycles", xlabel="bytes of a row", ylim=(0, 1.05))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("utilisation")
    axes[-1].legend(fontsize="small", loc="lower right")
    _save(figure, path)


def plot_units(rows: Sequence[Row], path: Path) -> None:
    """Draws the utilisation of the link over density, a picture per direction and a line per number of units, dotted
    what is possible; and of the engine with the most units, the bytes per cycle on both sides of its codecs.
    """
    chosen = [row for row in rows if row["pattern"] == "scattered"]
    directions = sorted({row["direction"] for row in chosen})
    counts = sorted({row["units"] for row in chosen})
    figure, axes = _figure(len(directions) + 1)
    for axis, direction in zip(axes, directions, strict=False):
        for index, count in enumerate(counts):
            points = _of(chosen, direction, count)
            x = [row["density"] for row in points]
            bound = [row["link_utilisation"] / row["share"] for row in points]
            axis.plot(x, bound, ":", color=f"C{index}")
            axis.plot(
                x,
                [row["link_utilisation"] for row in points],
                marker="o",
                markersize=4,
                color=f"C{index}",
                label=f"{count} unit{'s' * (count > 1)}",
            )
        axis.set(title=f"{direction}; dotted: the bound", xlabel="density", ylim=(0, 1.05))
        axis.set_ylabel("utilisation of the link")
        axis.legend(fontsize="small", loc="lower right")
    points = _of(chosen, directions[0], counts[-1])
    x = [row["density"] for row in points]
    for name, label, mark in (
        ("bytes", "compressed after the crossbar", "s"),
        ("compressed_bytes", "compressed before the crossbar", "o"),
    ):
        axes[-1].plot(
            x, [row[name] / row["cycles"] for row in points], marker=mark, markersize=4, label=label
        )
    axes[-1].set(title=f"{directions[0]}, {counts[-1]} units", xlabel="density")
    axes[-1].set_ylabel("bytes per cycle across the crossbar")
    axes[-1].set_ylim(bottom=0)
    axes[-1].legend(fontsize="small")
    for axis in axes:
        axis.grid(alpha=0.3)
    _save(figure, path)


def _floor(rows: Sequence[Row]) -> float:
    """Where the axis of utilisation begins: a tenth at or below the least, so that one sees what differs."""
    return math.floor(10 * min((row["utilisation"] for row in rows), default=0)) / 10


def _of(rows: Sequence[Row], direction: str, units: int) -> list[Row]:
    """The rows of a line, by density."""
    found = [row for row in rows if row["direction"] == direction and row["units"] == units]
    return sorted(found, key=lambda row: float(row["density"]))


def _figure(pictures: int, *, sharey: bool = False) -> tuple[Any, Any]:
    """A figure, and its pictures side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * pictures, 3.4), layout="constrained")
    return figure, figure.subplots(1, pictures, sharey=sharey, squeeze=False)[0]


def _save(figure: Any, path: Path) -> None:
    kind = path.suffix[1:]
    with replacing(path) as file:
        figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else None)
