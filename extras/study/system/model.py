"""The training of a network on a machine under a policy, step by step: is compression worth it?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format

from .density_table import DensityTable
from .feature_maps import ALGORITHMS, Compression
from .machine import Assumptions, Machine
from .networks import Network
from .planner import StepPlanner
from .policies import COMPRESSING, POLICIES, Situation, plan
from .step import Step, Transfer

#: The name of the algorithm in rows of policies that do not compress.
NO_ALGORITHM = "none"


@dataclass(frozen=True)
class Result:
    """One row of the answer: averages over the training, and peaks."""

    network: str
    machine: str
    policy: str
    algorithm: str
    #: Raw bytes moved per byte moved.
    ratio: float
    #: Bytes over the link in a step, both directions together.
    traffic_bytes: float
    step_s: float
    #: How many times as fast as to offload the same maps without compression.
    speedup_over_vdnn: float
    #: Seconds of computation in a step, without waits.
    compute_s: float
    #: The most device memory in use, and whether the device has that much.
    peak_bytes: float
    fits: bool
    #: The most host memory that offloaded data take.
    host_bytes: float


def moments(count: int) -> list[float]:
    """Returns the middles of ``count`` equal parts of the training."""
    return [(part + 0.5) / count for part in range(count)]


class Model:
    """Evaluates one network on one machine."""

    def __init__(
        self,
        network: Network,
        machine: Machine,
        assumptions: Assumptions,
        densities: DensityTable,
        lines: DensityTable | None = None,
        format: Format | None = None,
    ) -> None:
        self.planner = StepPlanner(network, machine, assumptions)
        if not self.planner.offloadable:
            raise ParameterError(
                f"network {network.name} has no feature map that is kept for the backward computation and "
                "read by a layer that extracts features, so there is nothing to offload"
            )
        self._densities = densities
        self._lines = lines or densities
        self._format = format
        self._vdnn: float | None = None

    @property
    def network(self) -> Network:
        """The network that is trained."""
        return self.planner.network

    @property
    def machine(self) -> Machine:
        """The machine that it is trained on."""
        return self.planner.machine

    def with_links(self, links: int) -> Model:
        """Returns the network on the machine with so many links."""
        return self.on(self.machine.with_links(links))

    def with_batch(self, batch: int) -> Model:
        """Returns the network with so many images in a step, on the machine."""
        return self._changed(network=replace(self.network, batch=batch))

    def on(self, machine: Machine) -> Model:
        """Returns the network on another machine."""
        return self._changed(machine=machine)

    def in_words(self, format: Format) -> Model:
        """Returns the network in words, windows and codes of this format; without, a word is a number."""
        return self._changed(format=format)

    def _changed(self, **changes: Any) -> Model:
        same = {"network": self.network, "machine": self.machine, "assumptions": self.planner.assumptions}
        recorded = {"densities": self._densities, "lines": self._lines, "format": self._format}
        return Model(**{**same, **recorded, **changes})

    def situation(self, algorithm: str, progress: float) -> Situation:
        """Returns the network at one moment of its training."""
        compression = Compression(self.network, self._densities, algorithm, self._lines, self._format)
        return Situation(self.planner, compression, progress)

    def step(self, policy: str, algorithm: str, progress: float) -> Step:
        """Runs one step."""
        return self.planner.run(self.transfers(policy, algorithm, progress))

    def transfers(self, policy: str, algorithm: str, progress: float) -> dict[str, Transfer]:
        """Returns the transfers of one step, by the names of the maps."""
        _known(policy, algorithm)
        return plan(policy, self.situation(algorithm, progress))

    def evaluate(self, policy: str, algorithm: str = "zv") -> Result:
        """Returns the row of a policy, averaged over the training."""
        _known(policy, algorithm)
        depends = policy in COMPRESSING
        count = self.planner.assumptions.training.moments if depends else 1
        steps = [self.step(policy, algorithm, progress) for progress in moments(count)]
        raw, link = _mean(step.raw_bytes for step in steps), _mean(step.link_bytes for step in steps)
        seconds = _mean(step.seconds for step in steps)
        peak = max(step.peak_bytes for step in steps)
        return Result(
            self.network.name,
            self.machine.name,
            policy,
            algorithm if depends else NO_ALGORITHM,
            raw / link if link else 1.0,
            link,
            seconds,
            self.vdnn_seconds / seconds,
            self.compute_seconds,
            peak,
            peak <= self.machine.gpu.memory_bytes,
            max(step.host_bytes for step in steps),
        )

    @property
    def compute_seconds(self) -> float:
        """Seconds of the computation of a step, without waits."""
        planner = self.planner
        return sum(cost.seconds for cost in (*planner.forward, *planner.backward, planner.update))

    @property
    def vdnn_seconds(self) -> float:
        """Seconds of a step in which everything is offloaded without compression."""
        if self._vdnn is None:
            self._vdnn = self.step("vdnn_all", "zv", 0.5).seconds
        return self._vdnn

    def evaluate_all(
        self,
        policies: Sequence[str],
        algorithms: Sequence[str],
        progress: Callable[[str], None] = lambda what: None,
    ) -> list[Result]:
        """Returns the rows of all policies, each with all algorithms that it can use; at least one row of each policy."""
        rows = []
        for policy, algorithm in usable(policies, algorithms):
            progress(f"{self.network.name} on {self.machine.name}: {policy} {algorithm}")
            rows.append(self.evaluate(policy, algorithm))
        return rows


def usable(policies: Sequence[str], algorithms: Sequence[str]) -> list[tuple[str, str]]:
    """Returns each policy with each of the algorithms that it can use, at least one."""
    for policy in policies:
        for algorithm in algorithms:
            _known(policy, algorithm)
    pairs = []
    for policy in policies:
        allowed = COMPRESSING.get(policy, algorithms[:1])
        chosen = [(policy, name) for name in algorithms if name in allowed]
        if not chosen:
            raise ParameterError(
                f"policy {policy} is given with {', '.join(algorithms)}; it compresses with {', '.join(allowed)} only"
            )
        pairs += chosen
    return pairs


def tensor_rows(model: Model, algorithm: str) -> list[dict[str, Any]]:
    """Returns a row for each map that may be offloaded: averages over the training, and how often to compress it pays."""
    _known("cswap", algorithm)
    items = model.planner.offloadable
    situations = [
        model.situation(algorithm, progress)
        for progress in moments(model.planner.assumptions.training.moments)
    ]
    by_kernel = [situation.kernel_decisions() for situation in situations]
    by_engine = [situation.engine_decisions() for situation in situations]
    return [
        {
            "network": model.network.name,
            "machine": model.machine.name,
            "tensor": item.name,
            "algorithm": algorithm,
            "bytes": model.planner.bytes_of(item),
            "density": _mean(situation.density(item) for situation in situations),
            "ratio": 1 / _mean(one.compression.fraction(item, one.progress) for one in situations),
            "cswap_compresses": _mean(float(decisions[index]) for decisions in by_kernel),
            "engine_compresses": _mean(float(decisions[index]) for decisions in by_engine),
        }
        for index, item in enumerate(items)
    ]


def _known(policy: str, algorithm: str) -> None:
    if policy not in POLICIES:
        raise ParameterError(f"policy is {policy!r}; it must be one of {', '.join(POLICIES)}")
    if algorithm not in ALGORITHMS:
        raise ParameterError(f"algorithm is {algorithm!r}; it must be one of {', '.join(ALGORITHMS)}")


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)
