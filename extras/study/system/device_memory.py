"""Device memory over one step of training: what is held from when to when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .feature_maps import FeatureMap
from .step import Transfer
from .step_tasks import StepTasks
from .timeline import Span

__all__ = ["Held", "hold_gradients", "hold_maps", "memory_levels"]


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
