"""Many measurements: every combination of some parameters, spread over processors or machines, and resumable.

What has been measured is kept by content, so a sweep that was interrupted goes on where it stopped, and one
that grew measures only what is new.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from cdma.hdl.spec.codec import CodecConfig

from .cache import Cache
from .circuits import codec_circuit
from .errors import MeasureError
from .floor import Floor, codec_floor
from .flow import Circuit
from .liberty import Library
from .measure import Measurement, kept_measurement, measure
from .recipe import Options
from .spread import Lost, spread
from .timing import find_opensta
from .yosys import find_yosys

__all__ = ["AXES", "Outcome", "Point", "Sweep", "parse_axis", "points", "run_sweep"]

_FORMAT_AXES = ("word_bits", "window", "code_bits")
_CODEC_AXES = ("lanes", "runtime_values", "pipelined")

#: What can be swept: the codec's parameters, and the clock period to size gates for.
AXES = (*_CODEC_AXES, *_FORMAT_AXES, "period")


@dataclass(frozen=True)
class Point:
    """One combination; ``reason`` says why it cannot be, and is empty where it can."""

    axes: dict[str, Any]
    config: CodecConfig
    options: Options
    reason: str = ""


@dataclass(frozen=True)
class Outcome:
    """A point, and what was measured there, or why nothing was."""

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


def parse_axis(text: str) -> tuple[str, tuple[Any, ...]]:
    """``lanes=2,4,8`` as a name and its values."""
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
    """Every combination of the axes' values, with what no axis says taken from ``base`` and ``options``.

    A combination that cannot be, such as more lanes than the window has words, is there with its reason.
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
class _Job:
    """What a worker needs: nothing of the place it was made at, and the tools that the others use."""

    circuit: Circuit
    library: Library
    options: Options
    tools: tuple[str, str]


class _Recorder(Cache):
    """Collects what would be kept, to be kept elsewhere."""

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
    """Measures and returns what the cache should keep; runs on a worker."""
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
    """Measures every point, on this machine or on the Dask cluster at ``scheduler``; see
    :func:`~cdma.synth.spread.spread`.

    ``on_done`` is called with each outcome as it comes; the result is in the order of the points.
    """
    cache = cache or Cache()
    outcomes: dict[int, Outcome] = {}

    def finish(place: int, result: Any) -> None:
        point = wanted[place]
        if isinstance(result, Lost):
            outcome = Outcome(point, None, None, result.reason)
        else:
            outcome = Outcome(point, result, codec_floor(block, point.config, library), "")
        outcomes[place] = outcome
        if on_done is not None:
            on_done(outcome)

    possible = []
    for place, point in enumerate(wanted):
        if point.reason:
            finish(place, Lost(point.reason))
        else:
            possible.append(place)

    made: dict[CodecConfig, Circuit] = {}
    one_at_a_time = Lock()

    def circuit_at(place: int) -> Circuit:
        config = wanted[place].config
        with one_at_a_time:
            if config not in made:
                made[config] = codec_circuit(block, config)
            return made[config]

    def here(place: int) -> Measurement:
        return measure(circuit_at(place), library, wanted[place].options, cache=cache)

    if scheduler is None:
        for index, result in spread(here, possible, jobs=jobs):
            finish(possible[index], result)
        return [outcomes[place] for place in range(len(wanted))]

    waiting = []
    for place in possible:
        known = kept_measurement(circuit_at(place), library, wanted[place].options, cache)
        if known is not None:
            finish(place, known)
        else:
            waiting.append(place)
    tools = _tools()
    items = [_Job(circuit_at(place), library, wanted[place].options, tools) for place in waiting]
    for index, result in spread(_measure_remotely, items, scheduler=scheduler):
        place = waiting[index]
        if not isinstance(result, Lost):
            for key, value in result.items():
                cache.store(key, value)
            result = here(place)
        finish(place, result)
    return [outcomes[place] for place in range(len(wanted))]
