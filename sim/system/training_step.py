"""One step of training as tasks: computation, offload and prefetch of feature maps, and the memory they take.

A map is offloaded while its last reader computes, as vDNN does, and is fetched again ahead of the first layer
whose backward computation reads it: when the layer before that needed such a map begins. ``lookahead`` many
layers' maps may be on their way at once in each direction; with one, a layer that offloads waits until the
offload before it is through.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .assumptions import Assumptions
from .feature_maps import FeatureMap, copied_parts, feature_maps
from .machine import Machine
from .networks import INPUT, Network
from .roofline import FLOAT_BYTES, Cost, backward, forward, update
from .timeline import Span, Task, simulate

__all__ = ["Step", "StepPlanner", "Transfer"]


@dataclass(frozen=True)
class Transfer:
    """How one map goes to the host and comes back."""

    raw_bytes: float
    #: Bytes over the link, each way.
    link_bytes: float
    offload: Cost
    prefetch: Cost
    #: Kernels of the device that compress and decompress it, where its own engine does not.
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
        """Seconds that a queue is at work."""
        return sum(
            span.end - span.start
            for task, span in zip(self.tasks, self.spans, strict=True)
            if task.queue == queue
        )


@dataclass
class _Builder:
    """Tasks, and memory that is taken and given back with them."""

    tasks: list[Task] = field(default_factory=list)
    #: Bytes, the task that begins with them in use, the tasks after whose ends they are free.
    held: list[tuple[float, int, tuple[int, ...]]] = field(default_factory=list)

    def add(
        self,
        name: str,
        queue: str,
        cost: Cost,
        after: tuple[int, ...] = (),
        with_start_of: tuple[int, ...] = (),
    ) -> int:
        self.tasks.append(Task(name, queue, cost.seconds, cost.dram_bytes, after, with_start_of))
        return len(self.tasks) - 1


class StepPlanner:
    """Everything about a network on a machine that does not depend on what is offloaded."""

    def __init__(self, network: Network, machine: Machine, assumptions: Assumptions) -> None:
        self.network, self.machine, self.assumptions = network, machine, assumptions
        self.maps = feature_maps(network)
        rates, gpu = assumptions.compute, machine.gpu
        copied = copied_parts(network)
        self.forward = [
            forward(network, layer, gpu, rates, copied.get(layer.name, 0.0)) for layer in network.layers
        ]
        self.backward = [
            backward(network, layer, gpu, rates, copied.get(layer.name, 0.0)) for layer in network.layers
        ]
        self.update = update(network, gpu, rates)
        self.offloadable = [item for item in self.maps if self._offloadable(item)]

    @property
    def dram_bytes_per_s(self) -> float:
        """Memory bandwidth that arrives."""
        return self.machine.gpu.dram_bytes_per_s * self.assumptions.compute.dram_efficiency

    @property
    def always_bytes(self) -> float:
        """Device memory in use whatever is offloaded: parameters, what training adds to them, workspace."""
        memory = self.assumptions.memory
        parameters = self.network.parameters * FLOAT_BYTES * memory.parameter_copies
        return parameters + memory.workspace_MiB * 2**20

    def bytes_of(self, item: FeatureMap) -> float:
        """Bytes of a map for the whole batch."""
        return float(item.elements * self.network.batch * FLOAT_BYTES)

    def read_by(self, item: FeatureMap, kind: str) -> bool:
        """Whether a layer of that kind reads a map."""
        return any(self.network.layers[place].kind == kind for place in item.readers)

    def hidden(self, chosen: set[str]) -> dict[str, tuple[float, float]]:
        """Computation that runs beside the offload and beside the prefetch of each map in ``chosen``.

        Forward it lasts from the layer beside which a map is offloaded to the one that waits for it; backward
        from where its prefetch may begin to the layer that needs it.
        """
        maps = [item for item in self.offloadable if item.name in chosen]
        by_offload = sorted(maps, key=self._offloaded_at)
        places = [self._offloaded_at(item) for item in by_offload] + [len(self.network.layers)]
        forward_times = {}
        for item, place, following in zip(by_offload, places, places[1:], strict=False):
            beside = self.forward[place : max(following, place + 1)]
            forward_times[item.name] = sum(cost.seconds for cost in beside)
        needed = sorted({self._needed_at(item) for item in maps}, reverse=True)
        begins = dict(zip(needed, [len(self.network.layers) - 1, *needed], strict=False))
        backward_times = {}
        for item in maps:
            place = self._needed_at(item)
            beside = self.backward[place + 1 : begins[place] + 1]
            backward_times[item.name] = sum(cost.seconds for cost in beside)
        return {item.name: (forward_times[item.name], backward_times[item.name]) for item in maps}

    def run(self, transfers: Mapping[str, Transfer]) -> Step:
        """The step in which the maps that ``transfers`` names are offloaded."""
        build = _Builder()
        ahead = self.assumptions.training.lookahead
        forward_tasks, offloads = self._add_forward(build, transfers, ahead)
        backward_tasks, arrivals = self._add_backward(build, transfers, ahead, offloads)
        build.add("update", "compute", self.update)
        spans = simulate(build.tasks, self.dram_bytes_per_s)
        self._hold_maps(build, transfers, forward_tasks, offloads, backward_tasks, arrivals)
        self._hold_gradients(build, backward_tasks)
        chosen = transfers.values()
        return Step(
            tuple(build.tasks),
            tuple(spans),
            tuple(self._memory(build, spans)),
            2 * sum(item.raw_bytes for item in chosen),
            2 * sum(item.link_bytes for item in chosen),
            sum(item.host_bytes for item in chosen),
        )

    def _offloadable(self, item: FeatureMap) -> bool:
        """Whether a map is kept and read by a layer that extracts features, as vDNN chooses."""
        if item.name == INPUT and not self.assumptions.training.offload_input:
            return False
        kinds = {self.network.layers[place].kind for place in item.readers}
        return item.kept and bool(kinds - {"fc", "softmax"})

    @staticmethod
    def _offloaded_at(item: FeatureMap) -> int:
        return item.readers[-1]

    @staticmethod
    def _needed_at(item: FeatureMap) -> int:
        return item.backward_users[-1]

    def _add_forward(
        self, build: _Builder, transfers: Mapping[str, Transfer], ahead: int
    ) -> tuple[list[int], dict[str, int]]:
        leaving: dict[int, list[FeatureMap]] = {}
        for item in self.offloadable:
            if item.name in transfers:
                leaving.setdefault(self._offloaded_at(item), []).append(item)
        tasks: list[int] = []
        offloads: dict[str, int] = {}
        rounds: list[tuple[int, ...]] = []
        for place, layer in enumerate(self.network.layers):
            going = leaving.get(place, [])
            waits = rounds[-ahead] if going and len(rounds) >= ahead else ()
            ready: dict[str, int] = {}
            for item in going:
                compress = transfers[item.name].compress
                if compress is not None:
                    ready[item.name] = build.add(f"compress {item.name}", "compute", compress, after=waits)
            tasks.append(build.add(f"forward {layer.name}", "compute", self.forward[place], after=waits))
            for item in going:
                after = (ready[item.name],) if item.name in ready else ()
                offloads[item.name] = build.add(
                    f"offload {item.name}",
                    "offload",
                    transfers[item.name].offload,
                    after=after,
                    with_start_of=() if after else (tasks[-1],),
                )
            if going:
                rounds.append(tuple(offloads[item.name] for item in going))
        return tasks, offloads

    def _add_backward(
        self, build: _Builder, transfers: Mapping[str, Transfer], ahead: int, offloads: Mapping[str, int]
    ) -> tuple[dict[int, int], dict[str, tuple[int, int | None]]]:
        wanted: dict[int, list[FeatureMap]] = {}
        for item in self.offloadable:
            if item.name in transfers:
                wanted.setdefault(self._needed_at(item), []).append(item)
        order = sorted(wanted, reverse=True)
        last_forward = len(build.tasks) - 1
        while build.tasks[last_forward].queue != "compute":
            last_forward -= 1
        tasks: dict[int, int] = {}
        arrivals: dict[str, tuple[int, int | None]] = {}
        rank = 0

        def fetch(place: int, **trigger: tuple[int, ...]) -> None:
            for item in wanted[place]:
                after = (*trigger.get("after", ()), offloads[item.name])
                arrivals[item.name] = (
                    build.add(
                        f"prefetch {item.name}",
                        "prefetch",
                        transfers[item.name].prefetch,
                        after=after,
                        with_start_of=trigger.get("with_start_of", ()),
                    ),
                    None,
                )

        for place in order[:ahead]:
            fetch(place, after=(last_forward,))
        for place in reversed(range(len(self.network.layers))):
            needed = wanted.get(place, [])
            waits = tuple(arrivals[item.name][0] for item in needed)
            for item in needed:
                decompress = transfers[item.name].decompress
                if decompress is not None:
                    arrived = arrivals[item.name][0]
                    kernel = build.add(f"decompress {item.name}", "compute", decompress, after=(arrived,))
                    arrivals[item.name] = (arrived, kernel)
            name = self.network.layers[place].name
            tasks[place] = build.add(f"backward {name}", "compute", self.backward[place], after=waits)
            if needed:
                if rank + ahead < len(order):
                    fetch(order[rank + ahead], with_start_of=(tasks[place],))
                rank += 1
        return tasks, arrivals

    def _hold_maps(
        self,
        build: _Builder,
        transfers: Mapping[str, Transfer],
        forward_tasks: list[int],
        offloads: Mapping[str, int],
        backward_tasks: Mapping[int, int],
        arrivals: Mapping[str, tuple[int, int | None]],
    ) -> None:
        for item in self.maps:
            size = self.bytes_of(item)
            begins = forward_tasks[item.writers[0]] if item.writers else forward_tasks[0]
            last_forward = forward_tasks[max(item.readers + item.writers)]
            if item.name not in transfers:
                ends = backward_tasks[item.backward_users[0]] if item.kept else last_forward
                build.held.append((size, begins, (ends,)))
                continue
            transfer, offload = transfers[item.name], offloads[item.name]
            arrived, decompressed = arrivals[item.name]
            last_backward = backward_tasks[item.backward_users[0]]
            if transfer.compress is None or decompressed is None:
                build.held.append((size, begins, (last_forward, offload)))
                build.held.append((size, arrived, (last_backward,)))
                continue
            # Kernels need raw and compressed data side by side.
            build.held.append((size, begins, (last_forward,)))
            build.held.append((transfer.link_bytes, build.tasks[offload].after[0], (offload,)))
            build.held.append((transfer.link_bytes, arrived, (decompressed,)))
            build.held.append((size, decompressed, (last_backward,)))

    def _hold_gradients(self, build: _Builder, backward_tasks: Mapping[int, int]) -> None:
        for item in self.maps:
            if item.writers:
                begins = backward_tasks[max(item.readers + item.writers)]
                build.held.append((self.bytes_of(item), begins, (backward_tasks[item.writers[0]],)))

    def _memory(self, build: _Builder, spans: list[Span]) -> list[tuple[float, float]]:
        changes: dict[float, float] = {0.0: self.always_bytes}
        for size, begins, ends in build.held:
            for time, change in ((spans[begins].start, size), (max(spans[end].end for end in ends), -size)):
                changes[time] = changes.get(time, 0.0) + change
        times = sorted(changes)
        levels = np.cumsum([changes[time] for time in times])
        return list(zip(times, levels.tolist(), strict=True))
