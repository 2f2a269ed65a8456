"""One step of training: what is transferred in it, and how it runs. Device memory over one step of training: what is
held from when to when.

The tasks of one step of training: computation, offloads and prefetches, and what each waits for.

A map is offloaded while its last reader computes, as vDNN does. It is fetched again before the first layer whose
backward computation reads it, from the moment when the layer before that needed such a map begins. In each direction
the maps of ``lookahead`` layers may be in flight at once: with one, a layer that offloads waits until the offload
before it has ended.

Simulates tasks on several queues of one or more devices, which share memories and links.

A queue runs its tasks one after the other. A task moves bytes to and from the memory of its device, and over the links, at
a constant rate while it runs. If all running tasks together exceed what a memory or the links deliver, each of them gets
the same part of its rate; what it then leaves of another one goes to the others there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from .feature_maps import FeatureMap
from .networks import Network
from .roofline import Cost


@dataclass(frozen=True)
class Transfer:
    """How one map goes to the host and comes back."""

    raw_bytes: float
    #: Bytes over the link, each way.
    link_bytes: float
    offload: Cost
    prefetch: Cost
    #: Kernels of the device that compress and decompress it, if its own engine does not.
    compress: Cost | None = None
    decompress: Cost | None = None
    #: Bytes that it takes in the host.
    host_bytes: float = 0.0


@dataclass(frozen=True)
class Step:
    """How a step runs."""

    tasks: tuple[Task, ...]
    spans: tuple[Span, ...]
    #: Device memory over time: bytes from each time on.
    memory: tuple[tuple[float, float], ...]
    raw_bytes: float
    link_bytes: float
    host_bytes: float

    @property
    def seconds(self) -> float:
        """Length of the step."""
        return max((span.end for span in self.spans), default=0.0)

    @property
    def peak_bytes(self) -> float:
        """The most device memory in use."""
        return max(used for _, used in self.memory)

    def busy(self, queue: str) -> float:
        """Seconds that a queue works."""
        return sum(
            span.end - span.start
            for task, span in zip(self.tasks, self.spans, strict=True)
            if task.queue == queue
        )


class StepTasks:
    """The tasks of a step in which ``offloaded`` maps are transferred. Other attributes are positions in ``tasks``."""

    def __init__(
        self,
        network: Network,
        offloaded: Sequence[FeatureMap],
        transfers: Mapping[str, Transfer],
        lookahead: int,
    ) -> None:
        self._layers = [layer.name for layer in network.layers]
        self._offloaded = offloaded
        self._transfers = transfers
        self._lookahead = lookahead
        self.tasks: list[Task] = []
        #: Computation by layer.
        self.forward: list[int] = []
        self.backward: dict[int, int] = {}
        #: Transfers, and kernels that compress or decompress, by the name of the map.
        self.compress: dict[str, int] = {}
        self.offload: dict[str, int] = {}
        self.prefetch: dict[str, int] = {}
        self.decompress: dict[str, int] = {}

    def add(
        self, name: str, queue: str, cost: Cost, after: Sequence[int] = (), beside: int | None = None
    ) -> int:
        """Adds a task that begins after the end of the tasks ``after``, and after the begin of the task ``beside``."""
        task = Task(name, queue, cost.seconds, cost.dram_bytes, tuple(after), link_bytes=cost.link_bytes)
        self.tasks.append(task if beside is None else replace(task, with_start_of=(beside,)))
        return len(self.tasks) - 1

    def add_forward(self, costs: Sequence[Cost]) -> None:
        """Adds the forward computation of all layers, and the offloads beside it."""
        leaving = _by_layer(self._offloaded, lambda item: item.offloaded_at)
        rounds: list[list[int]] = []
        for layer, cost in enumerate(costs):
            going = leaving.get(layer, [])
            waits = rounds[-self._lookahead] if going and len(rounds) >= self._lookahead else []
            for item in going:
                kernel = self._transfers[item.name].compress
                if kernel is not None:
                    self.compress[item.name] = self.add(f"compress {item.name}", "compute", kernel, waits)
            self.forward.append(self.add(f"forward {self._layers[layer]}", "compute", cost, waits))
            if going:
                rounds.append([self._add_offload(item, self.forward[-1]) for item in going])

    def _add_offload(self, item: FeatureMap, reader: int) -> int:
        """Adds an offload after the kernel that compresses its map, or else beside the last reader of the map."""
        name, cost = f"offload {item.name}", self._transfers[item.name].offload
        kernel = self.compress.get(item.name)
        if kernel is None:
            task = self.add(name, "offload", cost, beside=reader)
        else:
            task = self.add(name, "offload", cost, [kernel])
        self.offload[item.name] = task
        return task

    def add_backward(self, costs: Sequence[Cost]) -> None:
        """Adds the backward computation of all layers, last layer first, and the prefetches beside it."""
        wanted = _by_layer(self._offloaded, lambda item: item.needed_at)
        # The layers that need prefetched maps, in the order of the backward computation.
        order = sorted(wanted, reverse=True)
        for layer in order[: self._lookahead]:
            self._add_prefetches(wanted[layer], after=[self.forward[-1]])
        later = iter(order[self._lookahead :])
        for layer in reversed(range(len(costs))):
            needed = wanted.get(layer, [])
            for item in needed:
                kernel = self._transfers[item.name].decompress
                if kernel is not None:
                    arrived = [self.prefetch[item.name]]
                    self.decompress[item.name] = self.add(
                        f"decompress {item.name}", "compute", kernel, arrived
                    )
            waits = [self.prefetch[item.name] for item in needed]
            task = self.add(f"backward {self._layers[layer]}", "compute", costs[layer], waits)
            self.backward[layer] = task
            if needed and (following := next(later, None)) is not None:
                self._add_prefetches(wanted[following], beside=task)

    def _add_prefetches(
        self, items: Sequence[FeatureMap], after: Sequence[int] = (), beside: int | None = None
    ) -> None:
        for item in items:
            cost, waits = self._transfers[item.name].prefetch, [*after, self.offload[item.name]]
            self.prefetch[item.name] = self.add(f"prefetch {item.name}", "prefetch", cost, waits, beside)


def _by_layer(
    items: Sequence[FeatureMap], layer_of: Callable[[FeatureMap], int]
) -> dict[int, list[FeatureMap]]:
    found: dict[int, list[FeatureMap]] = {}
    for item in items:
        found.setdefault(layer_of(item), []).append(item)
    return found


#: The device's computation, and the two directions of the link.
QUEUES = ("compute", "offload", "prefetch")


@dataclass(frozen=True)
class Task:
    """Work of one queue."""

    name: str
    queue: str
    #: Its duration without other users of the memory and of the links.
    seconds: float
    dram_bytes: float = 0.0
    #: Tasks, by index in the list, that must have ended, and that must have begun, before it begins.
    after: tuple[int, ...] = ()
    with_start_of: tuple[int, ...] = ()
    #: Bytes over the links, in the direction of its queue.
    link_bytes: float = 0.0


@dataclass(frozen=True)
class Span:
    """When a task ran."""

    start: float
    end: float


#: A task by device and index, and what tasks share: the memory of a device, or the links in one direction.
_Key = tuple[int, int]
_Shared = tuple[str, int]


def simulate(tasks: Sequence[Task], dram_bytes_per_s: float) -> list[Span]:
    """Returns when each task of the only device runs; tasks of a queue run in the order of the list."""
    return simulate_devices([tasks], dram_bytes_per_s)[0]


def simulate_devices(
    devices: Sequence[Sequence[Task]],
    dram_bytes_per_s: float,
    link_rates: tuple[float, float] = (inf, inf),
) -> list[list[Span]]:
    """Returns when each task of each device runs, all of which begin together.

    Each device has a memory of its own with ``dram_bytes_per_s``. All together have links with so many bytes per second
    for offloads and for prefetches.
    """
    link = dict(zip(("offload", "prefetch"), link_rates, strict=True)) | {"compute": inf}
    work = {(device, index): task for device, tasks in enumerate(devices) for index, task in enumerate(tasks)}
    # No task is quicker than the memory and the links are with its bytes.
    alone = {
        key: max(task.seconds, task.dram_bytes / dram_bytes_per_s, task.link_bytes / link[task.queue])
        for key, task in work.items()
    }
    waiting: dict[tuple[int, str], list[_Key]] = {
        (device, queue): [] for device in range(len(devices)) for queue in QUEUES
    }
    for key, task in reversed(work.items()):
        waiting[key[0], task.queue].append(key)
    capacity: dict[_Shared, float] = {("dram", device): dram_bytes_per_s for device in range(len(devices))}
    capacity |= {(queue, -1): rate for queue, rate in link.items()}
    start: dict[_Key, float] = {}
    end: dict[_Key, float] = {}
    running: dict[_Key, float] = {}  # Seconds left, without other users.
    rates: dict[_Key, dict[_Shared, float]] = {}
    busy: set[tuple[int, str]] = set()
    now = 0.0
    while any(waiting.values()) or running:
        begun = True
        while begun:
            begun = False
            for queue, keys in waiting.items():
                if queue in busy or not keys:
                    continue
                key, device = keys[-1], queue[0]
                task = work[key]
                if all((device, other) in end for other in task.after) and all(
                    (device, other) in start for other in task.with_start_of
                ):
                    keys.pop()
                    start[key] = now
                    begun = True
                    if alone[key] > 0:
                        running[key] = alone[key]
                        rates[key] = _rates(task, device, alone[key])
                        busy.add(queue)
                    else:
                        end[key] = now
        if not running:
            if not any(waiting.values()):
                break
            stuck = [work[keys[-1]].name for keys in waiting.values() if keys]
            raise ValueError(f"tasks wait for each other in a circle: {', '.join(stuck)}")
        speed = _speeds({key: rates[key] for key in running}, capacity)
        step = min(left / speed[key] for key, left in running.items())
        now += step
        for key in list(running):
            running[key] -= step * speed[key]
            if running[key] <= 1e-12 * alone[key]:
                del running[key]
                end[key] = now
                busy.discard((key[0], work[key].queue))
    return [
        [Span(start[device, index], end[device, index]) for index in range(len(tasks))]
        for device, tasks in enumerate(devices)
    ]


def _rates(task: Task, device: int, seconds: float) -> dict[_Shared, float]:
    """What a task takes of what it shares, at full speed."""
    rates: dict[_Shared, float] = {}
    if task.dram_bytes:
        rates["dram", device] = task.dram_bytes / seconds
    if task.link_bytes:
        rates[task.queue, -1] = task.link_bytes / seconds
    return rates


def _speeds(
    rates: Mapping[_Key, Mapping[_Shared, float]], capacity: Mapping[_Shared, float]
) -> dict[_Key, float]:
    """The part of its full speed that each task gets: all get more together, until something that some share has no more."""
    speed: dict[_Key, float] = {}
    left = dict(capacity)
    growing = set(rates)
    while growing:
        asked: dict[_Shared, float] = {}
        for key in rates:
            if key in growing:
                for shared, rate in rates[key].items():
                    asked[shared] = asked.get(shared, 0.0) + rate
        most = {shared: left[shared] / total for shared, total in asked.items()}
        tightest = min(most, key=most.__getitem__, default=None)
        if tightest is None or most[tightest] >= 1:
            return speed | dict.fromkeys(growing, 1.0)
        for key in [key for key in rates if key in growing and tightest in rates[key]]:
            speed[key] = most[tightest]
            growing.discard(key)
            for shared, rate in rates[key].items():
                left[shared] = max(left[shared] - rate * speed[key], 0.0)
    return speed


@dataclass(frozen=True)
class Held:
    """Memory in use from the begin of one task to the end of the last of some others."""

    bytes: float
    begin: int
    ends: tuple[int, ...]


def hold_maps(
    tasks: StepTasks,
    maps: Iterable[FeatureMap],
    transfers: Mapping[str, Transfer],
    bytes_of: Callable[[FeatureMap], float],
) -> Iterator[Held]:
    """Yields what the feature maps hold, those that are offloaded before and after their time in the host."""
    for item in maps:
        size = bytes_of(item)
        begin = tasks.forward[item.writers[0]] if item.writers else tasks.forward[0]
        last_forward = tasks.forward[max(item.readers + item.writers)]
        if item.name not in transfers:
            yield Held(size, begin, (tasks.backward[item.backward_users[0]] if item.kept else last_forward,))
            continue
        offload, prefetch = tasks.offload[item.name], tasks.prefetch[item.name]
        last_backward = tasks.backward[item.backward_users[0]]
        if item.name not in tasks.compress or item.name not in tasks.decompress:
            yield Held(size, begin, (last_forward, offload))
            yield Held(size, prefetch, (last_backward,))
            continue
        # Kernels need the raw data and the compressed data at the same time.
        link_bytes, decompress = transfers[item.name].link_bytes, tasks.decompress[item.name]
        yield Held(size, begin, (last_forward,))
        yield Held(link_bytes, tasks.compress[item.name], (offload,))
        yield Held(link_bytes, prefetch, (decompress,))
        yield Held(size, decompress, (last_backward,))


def hold_gradients(
    tasks: StepTasks, maps: Iterable[FeatureMap], bytes_of: Callable[[FeatureMap], float]
) -> Iterator[Held]:
    """Yields what the gradients of the feature maps hold."""
    for item in maps:
        if item.writers:
            begin = tasks.backward[max(item.readers + item.writers)]
            yield Held(bytes_of(item), begin, (tasks.backward[item.writers[0]],))


def memory_levels(
    held: Iterable[Held], spans: Sequence[Span], always_bytes: float
) -> list[tuple[float, float]]:
    """Returns times and the bytes in use from each on; ``always_bytes`` are in use all the time."""
    changes: dict[float, float] = {0.0: always_bytes}
    for part in held:
        end = max(spans[task].end for task in part.ends)
        for time, change in ((spans[part.begin].start, part.bytes), (end, -part.bytes)):
            changes[time] = changes.get(time, 0.0) + change
    times = sorted(changes)
    levels = np.cumsum([changes[time] for time in times])
    return list(zip(times, levels.tolist(), strict=True))
