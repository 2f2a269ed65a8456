"""The tasks of one step of training: computation, offloads and prefetches, and what each waits for.

A map is offloaded while its last reader computes, as vDNN does. It is fetched again before the first layer whose
backward computation reads it, from the moment when the layer before that needed such a map begins. In each direction
the maps of ``lookahead`` layers may be in flight at once: with one, a layer that offloads waits until the offload
before it has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from .feature_maps import FeatureMap
from .networks import Network
from .roofline import Cost
from .step import Transfer
from .timeline import Task

__all__ = ["StepTasks"]


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
