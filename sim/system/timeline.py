"""Simulates tasks on several queues that share one memory.

A queue runs its tasks one after the other. A task moves bytes to and from memory at a constant rate while it runs. If
all running tasks together exceed the bandwidth of the memory, each gets the same part of its rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["QUEUES", "Span", "Task", "simulate"]

#: The device's computation, and the two directions of the link.
QUEUES = ("compute", "offload", "prefetch")


@dataclass(frozen=True)
class Task:
    """Work of one queue."""

    name: str
    queue: str
    #: Its duration without other users of the memory.
    seconds: float
    dram_bytes: float = 0.0
    #: Tasks, by index in the list, that must have ended, and that must have begun, before it begins.
    after: tuple[int, ...] = ()
    with_start_of: tuple[int, ...] = ()


@dataclass(frozen=True)
class Span:
    """When a task ran."""

    start: float
    end: float


def simulate(tasks: Sequence[Task], dram_bytes_per_s: float) -> list[Span]:
    """Returns when each task runs; tasks of a queue run in the order of the list."""
    # No task is quicker than the memory is with its bytes.
    alone = [max(task.seconds, task.dram_bytes / dram_bytes_per_s) for task in tasks]
    waiting: dict[str, list[int]] = {queue: [] for queue in QUEUES}
    for index in reversed(range(len(tasks))):
        waiting[tasks[index].queue].append(index)
    start: dict[int, float] = {}
    end: dict[int, float] = {}
    running: dict[int, float] = {}  # Seconds left, without other users of the memory.
    busy: set[str] = set()
    now = 0.0
    while any(waiting.values()) or running:
        begun = True
        while begun:
            begun = False
            for queue, indexes in waiting.items():
                if queue in busy or not indexes:
                    continue
                index = indexes[-1]
                task = tasks[index]
                if all(other in end for other in task.after) and all(
                    other in start for other in task.with_start_of
                ):
                    indexes.pop()
                    start[index] = now
                    begun = True
                    if alone[index] > 0:
                        running[index] = alone[index]
                        busy.add(queue)
                    else:
                        end[index] = now
        if not running:
            if not any(waiting.values()):
                break
            stuck = [tasks[indexes[-1]].name for indexes in waiting.values() if indexes]
            raise ValueError(f"tasks wait for each other in a circle: {', '.join(stuck)}")
        asked = sum(tasks[index].dram_bytes / alone[index] for index in running)
        share = min(1.0, dram_bytes_per_s / asked) if asked else 1.0
        speed = {index: share if tasks[index].dram_bytes else 1.0 for index in running}
        step = min(left / speed[index] for index, left in running.items())
        now += step
        for index in list(running):
            running[index] -= step * speed[index]
            if running[index] <= 1e-12 * alone[index]:
                del running[index]
                end[index] = now
                busy.discard(tasks[index].queue)
    return [Span(start[index], end[index]) for index in range(len(tasks))]
