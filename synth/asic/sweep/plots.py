"""Plots of a sweep, and the fit of area against lanes that one of them shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from cdma.base.errors import ToolError
from cdma.base.install import install_command

from .sweep import Outcome, Sweep

__all__ = ["LanesFit", "fit_lanes", "plot_sweep", "require_matplotlib"]


@dataclass(frozen=True)
class LanesFit:
    """``kge = constant + slope * lanes * log2(lanes)``; ``worst`` is the largest relative error of a point."""

    constant: float
    slope: float
    worst: float

    def __call__(self, lanes: float) -> float:
        return self.constant + self.slope * lanes * math.log2(lanes)


def fit_lanes(lanes: Sequence[int], kge: Sequence[float]) -> LanesFit:
    """Fits by least squares of the relative error, so that small configurations count as much as large ones."""
    growth = np.array([count * math.log2(count) for count in lanes])
    area = np.array(kge, dtype=float)
    system = np.column_stack([np.ones_like(growth), growth]) / area[:, None]
    (constant, slope), *_ = np.linalg.lstsq(system, np.ones_like(area), rcond=None)
    worst = float(np.max(np.abs(constant + slope * growth - area) / area))
    return LanesFit(float(constant), float(slope), worst)


def require_matplotlib() -> None:
    """Raises :class:`ToolError` where no plot can be drawn."""
    try:
        import_module("matplotlib")
    except ImportError:
        raise ToolError(f"matplotlib is not installed; it comes with: {install_command('plot')}") from None


def plot_sweep(sweep: Sweep, folder: Path) -> list[Path]:
    """Draws the plots that the axes of the sweep allow into ``folder``, as SVG; returns the files."""
    require_matplotlib()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    drawn: list[Path] = []

    def draw(
        name: str, x: str, y_label: str, y: Callable[[Outcome], float | None], fit: bool = False
    ) -> None:
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.subplots()
        for label, line in _lines(sweep, x):
            points = [(outcome.point.axes[x], value) for outcome in line if (value := y(outcome)) is not None]
            if not points:
                continue
            horizontal, vertical = zip(*sorted(points), strict=True)
            (marks,) = axes.plot(horizontal, vertical, "o" if fit else "o-", label=label or None)
            if fit and len(points) >= 3:
                found = fit_lanes(horizontal, vertical)
                dense = np.geomspace(horizontal[0], horizontal[-1], 60)
                text = f"{found.constant:.2f} + {found.slope:.3f} n log₂ n, within {100 * found.worst:.0f} %"
                axes.plot(dense, [found(n) for n in dense], "-", color=marks.get_color(), lw=1, label=text)
        axes.set_xlabel({"lanes": "lanes", "period": "clock period, ns"}[x])
        axes.set_ylabel(y_label)
        if x == "lanes":
            axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="small")
        axes.set_title(f"{sweep.block}, {sweep.library}", fontsize="medium")
        path = folder / f"{sweep.block}-{name}.svg"
        # Without a date and random names, the same sweep gives the same file.
        with mpl.rc_context({"svg.hashsalt": "cdma"}):
            figure.savefig(path, metadata={"Date": None})
        drawn.append(path)

    if len(sweep.axes.get("lanes", ())) > 1:
        draw("area", "lanes", "kGE", _kge, fit=True)
        draw("efficiency", "lanes", "GE per byte per cycle", lambda outcome: outcome.ge_per_byte)
        draw("floor", "lanes", "area / structural floor", lambda outcome: outcome.floor_ratio)
    if len(sweep.axes.get("period", ())) > 1:
        draw("period", "period", "kGE", _kge)
    return drawn


def _kge(outcome: Outcome) -> float | None:
    return outcome.measurement.plain.kge if outcome.measurement is not None else None


def _lines(sweep: Sweep, x: str) -> list[tuple[str, list[Outcome]]]:
    """Returns the outcomes as lines over the axis ``x``, one line for each combination of the other axes."""
    lines: dict[tuple[tuple[str, Any], ...], list[Outcome]] = {}
    for outcome in sweep.measured:
        others = tuple((name, value) for name, value in outcome.point.axes.items() if name != x)
        lines.setdefault(others, []).append(outcome)
    return [
        (", ".join(f"{name.replace('_', ' ')} {value}" for name, value in key), line)
        for key, line in lines.items()
    ]
