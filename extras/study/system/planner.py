"""The steps of a network that is trained on a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .feature_maps import FeatureMap, copied_parts, feature_maps
from .machine import Assumptions, Machine
from .networks import INPUT, Network
from .roofline import FLOAT_BYTES, backward, forward, update
from .step import Step, StepTasks, Transfer, hold_gradients, hold_maps, memory_levels, simulate


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
        """Memory bandwidth that computation and transfers get."""
        return self.machine.gpu.dram_bytes_per_s * self.assumptions.compute.dram_efficiency

    @property
    def link_rates(self) -> tuple[float, float]:
        """Bytes per second that all links together transfer from the device to the host, and back."""
        link, part = self.machine.link, self.machine.links * self.assumptions.link.efficiency
        return link.d2h_bytes_per_s * part, link.h2d_bytes_per_s * part

    @property
    def always_bytes(self) -> float:
        """Device memory in use whatever is offloaded: parameters, what training adds to them, workspace."""
        memory = self.assumptions.memory
        parameters = self.network.parameters * FLOAT_BYTES * memory.parameter_copies
        return parameters + memory.workspace_MiB * 2**20

    def bytes_of(self, item: FeatureMap) -> float:
        """Returns the bytes of a map for the whole batch."""
        return float(self.network.bytes_of(item.name) * self.network.batch)

    def read_by(self, item: FeatureMap, kinds: Sequence[str]) -> bool:
        """Whether a layer of one of those kinds reads a map."""
        return any(self.network.layers[layer].kind in kinds for layer in item.readers)

    def hidden(self, chosen: set[str]) -> dict[str, tuple[float, float]]:
        """Returns the seconds of computation that hide the offload and the prefetch of each map in ``chosen``.

        An offload is hidden by the forward computation of the layers from the map's last reader to the next layer that
        offloads, which waits for it. A prefetch is hidden by the backward computation of the layers between the previous
        layer that needs a prefetched map and the one that needs this map.
        """
        maps = [item for item in self.offloadable if item.name in chosen]
        by_offload = sorted(maps, key=lambda item: item.offloaded_at)
        layers = [item.offloaded_at for item in by_offload] + [len(self.network.layers)]
        forward_times = {}
        for item, layer, following in zip(by_offload, layers, layers[1:], strict=False):
            beside = self.forward[layer : max(following, layer + 1)]
            forward_times[item.name] = sum(cost.seconds for cost in beside)
        needed = sorted({item.needed_at for item in maps}, reverse=True)
        begins = dict(zip(needed, [len(self.network.layers) - 1, *needed], strict=False))
        backward_times = {}
        for item in maps:
            beside = self.backward[item.needed_at + 1 : begins[item.needed_at] + 1]
            backward_times[item.name] = sum(cost.seconds for cost in beside)
        return {item.name: (forward_times[item.name], backward_times[item.name]) for item in maps}

    def tasks(self, transfers: Mapping[str, Transfer]) -> StepTasks:
        """Returns the tasks of the step in which the maps that ``transfers`` names are offloaded."""
        offloaded = [item for item in self.offloadable if item.name in transfers]
        tasks = StepTasks(self.network, offloaded, transfers, self.assumptions.training.lookahead)
        tasks.add_forward(self.forward)
        tasks.add_backward(self.backward)
        tasks.add("update", "compute", self.update)
        return tasks

    def run(self, transfers: Mapping[str, Transfer]) -> Step:
        """Runs the step in which the maps that ``transfers`` names are offloaded."""
        tasks = self.tasks(transfers)
        spans = simulate(tasks.tasks, self.dram_bytes_per_s)
        held = [
            *hold_maps(tasks, self.maps, transfers, self.bytes_of),
            *hold_gradients(tasks, self.maps, self.bytes_of),
        ]
        chosen = transfers.values()
        return Step(
            tuple(tasks.tasks),
            tuple(spans),
            tuple(memory_levels(held, spans, self.always_bytes)),
            2 * sum(item.raw_bytes for item in chosen),
            2 * sum(item.link_bytes for item in chosen),
            sum(item.host_bytes for item in chosen),
        )

    def _offloadable(self, item: FeatureMap) -> bool:
        """Whether a map is kept and read by a layer that extracts features, as vDNN chooses."""
        if item.name == INPUT and not self.assumptions.training.offload_input:
            return False
        kinds = {self.network.layers[layer].kind for layer in item.readers}
        return item.kept and bool(kinds - {"fc", "softmax"})
