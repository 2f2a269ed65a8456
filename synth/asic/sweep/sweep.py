"""Sweeps: every combination of parameters, measured on processors or machines, resumable, with plots and a fit.

Measurements are kept by content. An interrupted sweep continues where it stopped, and one with more points measures
only the new ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from cdma.base.cache import Cache
from cdma.base.errors import ToolError, install_command
from cdma.base.spread import Lost, spread
from cdma.base.yosys import find_yosys
from cdma.hdl.spec.codec import CodecConfig
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.measure import Measurement, kept_measurement, measure
from cdma.synth.asic.paths import Circuit, MeasureError, circuit_of
from cdma.synth.asic.recipe import Options
from cdma.synth.asic.scaling import Floor, codec_floor
from cdma.synth.asic.timing import find_opensta

_FORMAT_AXES = ("word_bits", "window", "code_bits")
_CODEC_AXES = ("lanes", "runtime_values", "pipelined")

#: What can be swept: the codec's parameters, and the clock period to size gates for.
AXES = (*_CODEC_AXES, *_FORMAT_AXES, "period")


@dataclass(frozen=True)
class Point:
    """One combination; ``reason`` says why it is invalid, and is empty if it is valid."""

    axes: dict[str, Any]
    config: CodecConfig
    options: Options
    reason: str = ""


def parse_axis(text: str) -> tuple[str, tuple[Any, ...]]:
    """Returns the name and the values of an axis such as ``lanes=2,4,8``."""
    name, _, values = text.partition("=")
    name = name.strip().replace("-", "_")
    if name not in AXES or not values.strip():
        raise MeasureError(
            f"the sweep {text!r} must be NAME=VALUE,VALUE… with one of the names {', '.join(AXES)}"
        )
    read: Callable[[str], Any]
    if name == "period":
        read = float
    elif name in ("runtime_values", "pipelined"):
        read = _boolean
    else:
        read = int
    try:
        result = tuple(read(value.strip()) for value in values.split(","))
    except (KeyError, ValueError):
        raise MeasureError(f"the sweep {text!r} has a value that {name} cannot have") from None
    if len(set(result)) != len(result):
        raise MeasureError(f"the sweep {text!r} has a value twice")
    return name, result


def _boolean(text: str) -> bool:
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]


def points(base: CodecConfig, options: Options, axes: Mapping[str, Sequence[Any]]) -> Iterator[Point]:
    """Yields every combination of the values of the axes; other parameters are those of ``base`` and ``options``.

    An invalid combination, such as more lanes than the window has words, has its reason.
    """
    for values in itertools.product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        at = replace(options, target_ns=chosen["period"]) if "period" in chosen else options
        try:
            parameters = {name: value for name, value in chosen.items() if name != "period"}
            config = CodecConfig.from_settings(base.settings() | parameters)
        except ValueError as error:
            yield Point(chosen, base, at, str(error))
        else:
            yield Point(chosen, config, at)


@dataclass(frozen=True)
class Outcome:
    """A point, and its measurement or the reason why it has none."""

    point: Point
    measurement: Measurement | None
    floor: Floor | None
    reason: str

    @property
    def ge_per_byte(self) -> float | None:
        """Gate equivalents for each byte per cycle of the uncompressed stream."""
        if self.measurement is None:
            return None
        return 1000 * self.measurement.plain.kge / (self.point.config.data_bits / 8)

    @property
    def floor_ratio(self) -> float | None:
        if self.measurement is None or self.floor is None:
            return None
        return self.measurement.plain.kge / self.floor.kge

    def as_json(self) -> dict[str, Any]:
        if self.measurement is None or self.floor is None:
            return {"axes": self.point.axes, "reason": self.reason}
        return {
            "axes": self.point.axes,
            **self.measurement.as_json(),
            "ge_per_byte_per_cycle": round(self.ge_per_byte or 0.0, 2),
            "floor": self.floor.as_json(),
            "floor_ratio": round(self.floor_ratio or 0.0, 4),
        }


@dataclass(frozen=True)
class Sweep:
    """All outcomes, in the order of the points."""

    block: str
    library: str
    axes: dict[str, tuple[Any, ...]]
    outcomes: tuple[Outcome, ...]

    @property
    def measured(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.measurement is not None]


@dataclass(frozen=True)
class _Job:
    """What a worker needs, independent of the machine that made it, with the tools that all others use."""

    circuit: Circuit
    library: Library
    options: Options
    tools: tuple[str, str]


class _Recorder(Cache):
    """Collects the values that would be kept, so that another machine keeps them."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, Any] = {}

    def load(self, key: str) -> Any | None:
        return self.values.get(key)

    def store(self, key: str, value: Any) -> None:
        self.values[key] = value


def _tools() -> tuple[str, str]:
    return str(find_yosys()), str(find_opensta())


def _measure_remotely(job: _Job) -> dict[str, Any]:
    """Measures on a worker, and returns the values that the cache should keep."""
    if _tools() != job.tools:
        ours, theirs = " and ".join(_tools()), " and ".join(job.tools)
        raise MeasureError(f"the worker has {ours} instead of {theirs}: the figures would not compare")
    recorder = _Recorder()
    measure(job.circuit, job.library, job.options, cache=recorder)
    return recorder.values


def run_sweep(
    block: str,
    library: Library,
    wanted: Sequence[Point],
    *,
    jobs: int = 2,
    scheduler: str | None = None,
    cache: Cache | None = None,
    on_done: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Measures every point, on this machine or on the Dask cluster at ``scheduler``, as :func:`.spread` says.

    ``on_done`` is called with each outcome as it is made. The result is in the order of the points.
    """
    cache = cache or Cache()
    outcomes: dict[int, Outcome] = {}

    def finish(index: int, result: Any) -> None:
        point = wanted[index]
        if isinstance(result, Lost):
            outcome = Outcome(point, None, None, result.reason)
        else:
            outcome = Outcome(point, result, codec_floor(block, point.config, library), "")
        outcomes[index] = outcome
        if on_done is not None:
            on_done(outcome)

    possible = []
    for index, point in enumerate(wanted):
        if point.reason:
            finish(index, Lost(point.reason))
        else:
            possible.append(index)

    made: dict[CodecConfig, Circuit] = {}
    one_at_a_time = Lock()

    def circuit_at(index: int) -> Circuit:
        config = wanted[index].config
        with one_at_a_time:
            if config not in made:
                made[config] = circuit_of(block, config)
            return made[config]

    def here(index: int) -> Measurement:
        return measure(circuit_at(index), library, wanted[index].options, cache=cache)

    if scheduler is None:
        for number, result in spread(here, possible, jobs=jobs):
            finish(possible[number], result)
        return [outcomes[index] for index in range(len(wanted))]

    waiting = []
    for index in possible:
        known = kept_measurement(circuit_at(index), library, wanted[index].options, cache)
        if known is not None:
            finish(index, known)
        else:
            waiting.append(index)
    tools = _tools()
    items = [_Job(circuit_at(index), library, wanted[index].options, tools) for index in waiting]
    for number, result in spread(_measure_remotely, items, scheduler=scheduler):
        index = waiting[number]
        if not isinstance(result, Lost):
            for key, value in result.items():
                cache.store(key, value)
            result = here(index)
        finish(index, result)
    return [outcomes[index] for index in range(len(wanted))]


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
