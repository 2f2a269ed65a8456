"""The picture of ``cdma bench engine --plot``: utilisation over density."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cdma.files import replacing
from cdma.hdl.spec.errors import CdmaError

from .rows import Row

__all__ = ["plot_utilisation"]


def plot_utilisation(rows: Sequence[Row], path: Path) -> None:
    """Draws a line per direction and size, a picture per latency of the memory."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise CdmaError("a plot needs matplotlib: install cdma[plot]") from None
    kind = path.suffix[1:]
    if kind not in ("svg", "png"):
        raise CdmaError(f"{path} has no ending .svg or .png; those are what can be drawn")
    chosen = [row for row in rows if row["mode"] == "zvc" and not row["concurrent"]]
    several = len({row["host_data_bits"] for row in chosen}) > 1
    latencies = sorted({row["memory_latency"] for row in chosen})
    figure = Figure(figsize=(4 * len(latencies), 3.4), layout="constrained")
    axes = figure.subplots(1, len(latencies), sharey=True, squeeze=False)[0]
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
        axis.set(title=f"memory latency {latency} cycles", xlabel="density", ylim=(0, 1.02))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("utilisation")
    axes[-1].legend(fontsize="small", loc="lower right")
    with replacing(path) as file:
        figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else None)
