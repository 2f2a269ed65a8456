"""Simulates tasks on several queues of one or more devices, which share memories and links.

A queue runs its tasks one after the other. A task moves bytes to and from the memory of its device, and over the links, at
a constant rate while it runs. If all running tasks together exceed what a memory or the links deliver, each of them gets
the same part of its rate; what it then leaves of another one goes to the others there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

__all__ = ["QUEUES", "Span", "Task", "simulate", "simulate_devices"]

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
