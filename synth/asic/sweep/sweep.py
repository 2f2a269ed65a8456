"""Many measurements, spread over processors or machines, and resumable.

Measurements are kept by content. A sweep that was interrupted continues where it stopped, and one with more points
measures only the new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from cdma.base.json_cache import Cache
from cdma.base.spread import Lost, spread
from cdma.base.yosys import find_yosys
from cdma.hdl.spec.codec import CodecConfig
from cdma.synth.asic.floor import Floor, codec_floor
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.measure import Measurement, kept_measurement, measure
from cdma.synth.asic.recipe import Options
from cdma.synth.asic.timing import find_opensta
from cdma.synth.circuits import Circuit, circuit_of
from cdma.synth.errors import MeasureError

from .points import Point

__all__ = ["Outcome", "Sweep", "run_sweep"]


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
