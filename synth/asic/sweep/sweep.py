"""Sweeps: every combination of parameters, measured on processors or machines, resumable.

Measurements are kept by content. An interrupted sweep continues where it stopped, and one with more points measures
only the new ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from cdma.base.cache import Cache
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
