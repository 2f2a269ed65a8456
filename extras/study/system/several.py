"""Several devices on the links of one host: what limits a step of training, and what would limit it next.

All devices train on a batch of their own and begin each step together, so they want the links at the same times. A transfer
is spread over all links. Each device has memory, crossbar, units and a host port of its own, as one on a single link has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from cdma.base.errors import ParameterError

from .model import NO_ALGORITHM, Model, moments
from .passage import PARTS, without
from .policies import COMPRESSING
from .step import Transfer
from .timeline import simulate_devices

__all__ = ["COMPUTATION", "MOST", "Several", "several"]

#: The most devices or links.
MOST = 64
#: What a step takes besides its transfers.
COMPUTATION = "computation"

#: A part of a step that is not worth a word.
_LITTLE = 0.001

_ALL = (COMPUTATION, *PARTS)


@dataclass(frozen=True)
class Several:
    """A step of several devices: averages over the training."""

    network: str
    machine: str
    policy: str
    algorithm: str
    devices: int
    links: int
    step_s: float
    #: Images of all devices per second.
    images_per_s: float
    #: Of what as many devices would do that never wait for a transfer.
    efficiency: float
    #: Bytes of all devices over all links, in both directions.
    traffic_bytes: float
    #: The part of the step for which the links are busy in one direction, on average over the two.
    link_use: float
    #: Seconds that each part of the machine needs at least for what it moves in its busier direction.
    least_s: Mapping[str, float]
    #: What transfers pass without which the step would be shortest, and what it is then; or the computation, if no part
    #: makes it wait.
    bottleneck: str
    next_bottleneck: str
    #: The length of the step if each part took no time; it may be a little more than that of the step, since a transfer
    #: that is sooner may take memory bandwidth from the computation when that needs it more.
    without_s: Mapping[str, float]


def several(model: Model, policy: str, algorithm: str, devices: int, links: int) -> Several:
    """Returns how so many of the model's machines run a step on so many of its links."""
    for name, value in (("devices", devices), ("links", links)):
        if not 1 <= value <= MOST:
            raise ParameterError(f"{name} is {value}; it must be from 1 to {MOST}")
    if policy == "vdnn++":
        raise ParameterError(
            "policy vdnn++ is given with several devices or links; it compresses by the processors of the host, and how "
            "several devices share these is not modelled"
        )
    here = model.with_links(links)
    used = policy in COMPRESSING
    progress = moments(model.planner.assumptions.training.moments if used else 1)
    steps = [_Step(here, here.transfers(policy, algorithm, at), devices) for at in progress]
    seconds = _mean([step.seconds() for step in steps])
    without_s = {part: _mean([step.seconds({part}) for step in steps]) for part in _ALL}
    first = _bottleneck(seconds, without_s)
    then = {
        part: _mean([step.seconds({first, part}) for step in steps])
        for part in PARTS
        if first != COMPUTATION and part != first
    }
    traffic = devices * _mean([step.link_bytes for step in steps])
    return Several(
        model.network.name,
        model.machine.name,
        policy,
        algorithm if used else NO_ALGORITHM,
        devices,
        links,
        seconds,
        devices * model.network.batch / seconds,
        model.compute_seconds / seconds,
        traffic,
        traffic / 2 * _mean([1 / rate for rate in here.planner.link_rates]) / seconds,
        {part: _mean([step.least(part) for step in steps]) for part in _ALL},
        first,
        _bottleneck(without_s[first], then),
        without_s,
    )


def _bottleneck(seconds: float, without_s: Mapping[str, float]) -> str:
    """The part without which a step of so many seconds is shortest, if that is worth a word."""
    parts = [part for part in PARTS if without_s.get(part, seconds) < seconds * (1 - _LITTLE)]
    return min(parts, key=without_s.__getitem__, default=COMPUTATION)


class _Step:
    """The same step on each of several devices."""

    def __init__(self, model: Model, transfers: Mapping[str, Transfer], devices: int) -> None:
        self._model = model
        self._transfers = transfers
        self._devices = devices
        self._rates = model.planner.link_rates

    @property
    def link_bytes(self) -> float:
        """Bytes of one device over the links, in both directions."""
        return 2 * sum(transfer.link_bytes for transfer in self._transfers.values())

    def seconds(self, relieved: Collection[str] = ()) -> float:
        """Length of the step if some parts of the machine took no time."""
        transfers = {name: without(transfer, relieved) for name, transfer in self._transfers.items()}
        planner = self._model.planner
        tasks = planner.tasks(transfers).tasks
        if COMPUTATION in relieved:
            tasks = [
                replace(task, seconds=0.0, dram_bytes=0.0) if task.queue == "compute" else task
                for task in tasks
            ]
        if "device memory" in relieved:
            tasks = [replace(task, dram_bytes=0.0) for task in tasks]
        spans = simulate_devices([tasks] * self._devices, planner.dram_bytes_per_s, self._rates)
        return max((span.end for spans_of in spans for span in spans_of), default=0.0)

    def least(self, part: str) -> float:
        """Seconds that a part needs at least."""
        tasks = self._model.planner.tasks(self._transfers).tasks
        if part == COMPUTATION:
            return sum(task.seconds for task in tasks if task.queue == "compute")
        busiest = max(
            (
                sum(cost.limits.get(part, 0.0) for cost in costs)
                for costs in zip(
                    *((item.offload, item.prefetch) for item in self._transfers.values()), strict=True
                )
            ),
            default=0.0,
        )
        if part == "device memory":
            moved = sum(task.dram_bytes for task in tasks) / self._model.planner.dram_bytes_per_s
            return max(busiest, moved)
        return busiest * self._devices if part == "link" else busiest


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
