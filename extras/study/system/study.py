"""The figures of the papers that the model can answer with one of its own.

Several devices on the links of one host: what limits a step of training, and what would limit it next.

All devices train on a batch of their own and begin each step together, so they want the links at the same times. A transfer
is spread over all links. Each device has memory, crossbar, units and a host port of its own, as one on a single link has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from cdma.base.errors import ParameterError
from cdma.base.toml_table import read_toml
from cdma.study.recorded import DATA

from .density_table import DensityTable
from .headlines import (
    CSWAP_MACHINES,
    CSWAP_NETWORKS,
    CSWAP_POLICIES,
    NETWORKS,
    PAPER_NETWORKS,
    best_ratio,
    headlines,
)
from .machine import Assumptions, Machine, load_link, load_machine
from .model import NO_ALGORITHM, Model, Result, moments
from .networks import load_network
from .policies import COMPRESSING, PARTS, without
from .step import Transfer, simulate_devices

_CODECS = ("zv", "rl", "zl")
_LINKS = ("pcie3", "pcie4", "pcie5", "nvlink2")
_READ_GBPS = (12.5, 25, 50, 100, 200)
#: Networks of vDNN, and the images of a step.
_VDNN = {"alexnet": 128, "overfeat": 128, "googlenet": 128, "vgg16": 256}


@dataclass(frozen=True)
class Choice:
    """The decisions of CSWAP for one network in one epoch."""

    epoch: int
    maps: int
    compressed: int
    left_alone: tuple[str, ...]


@dataclass(frozen=True)
class Offload:
    """A network on the Titan X (Maxwell): bytes of device memory that a step needs, and without parameters and workspace
    on average; those of ``vdnn_all``, and the part of the speed that it loses to a device with enough memory."""

    network: str
    batch: int
    needed: float
    average: float
    offloaded_peak: float
    offloaded_average: float
    slower: float

    @property
    def saved(self) -> float:
        """The part of the average memory that is saved."""
        return 1 - self.offloaded_average / self.average


@dataclass(frozen=True)
class Study:
    """The numbers of all figures. In every mapping the network is the first key."""

    #: By network and codec.
    ratio_average: Mapping[str, Mapping[str, float]]
    ratio_maximum: Mapping[str, Mapping[str, float]]
    #: On the Titan Xp, by network, then by policy and algorithm.
    speedup: Mapping[str, Mapping[tuple[str, str], Result]]
    #: By network: pairs of read bandwidth in GB/s and speedup, on the Titan X (Maxwell).
    provision: Mapping[str, Sequence[tuple[float, float]]]
    #: By network and link: speedup of cDMA and of the oracle over vDNN.
    links: Mapping[str, Mapping[str, tuple[float, float]]]
    #: By network and machine: vDNN, vDNN++, everything compressed by kernels, CSWAP.
    cswap: Mapping[str, Mapping[str, Mapping[str, Result]]]
    #: By network and epoch, on the V100.
    choices: Mapping[str, Sequence[Choice]]
    #: Exposed seconds of each map of VGG-19 on the V100 at the end of the training, plain and compressed by kernels.
    exposed: Sequence[tuple[str, float, float]]
    #: Device memory of VGG-16 over a step, in seconds and bytes, by policy.
    memory: Mapping[str, Sequence[tuple[float, float]]]
    vdnn: Sequence[Offload]
    #: By network of CSWAP: its layers with a ReLU.
    relus: Mapping[str, int]


@dataclass(frozen=True)
class Comparison:
    """A figure of a paper, and ours."""

    #: Its name in ``data/paper.toml``, and the paper's.
    quantity: str
    paper: str
    what: str
    theirs: float
    source: str
    ours: float
    reason: str


def study(
    assumptions: Assumptions,
    densities: DensityTable,
    lines: DensityTable,
    progress: Callable[[str], None] = lambda what: None,
) -> Study:
    """Evaluates all networks; takes about a minute."""

    def model(network: str, machine: Machine) -> Model:
        return Model(load_network(network), machine, assumptions, densities, lines)

    titan_xp, maxwell = load_machine("titan_xp"), load_machine("titan_x_maxwell")
    models = {name: model(name, titan_xp) for name in NETWORKS}
    speedup: dict[str, dict[tuple[str, str], Result]] = {}
    for name, one in models.items():
        progress(f"{name}: speedup")
        rows = one.evaluate_all(("vdnn_all", "cdma", "oracle"), (*_CODECS, "zl_hw"))
        speedup[name] = {(row.policy, row.algorithm): row for row in rows}
    provision, links, cswap, choices = {}, {}, {}, {}
    for name in NETWORKS:
        progress(f"{name}: memory bandwidth")
        provision[name] = [
            (rate, model(name, maxwell.with_read_bandwidth(rate * 1e9)).evaluate("cdma").speedup_over_vdnn)
            for rate in _READ_GBPS
        ]
        progress(f"{name}: links")
        links[name] = {link: _over_link(model(name, titan_xp.with_link(load_link(link)))) for link in _LINKS}
    for name in CSWAP_NETWORKS:
        progress(f"{name}: CSWAP")
        cswap[name] = {
            machine: {
                policy: model(name, load_machine(machine)).evaluate(policy) for policy in CSWAP_POLICIES
            }
            for machine in CSWAP_MACHINES
        }
        choices[name] = _choices(model(name, load_machine(CSWAP_MACHINES[0])))
    vgg = models["vgg16"]
    return Study(
        {name: {codec: speedup[name]["cdma", codec].ratio for codec in _CODECS} for name in NETWORKS},
        {name: {codec: best_ratio(one, codec) for codec in _CODECS} for name, one in models.items()},
        speedup,
        provision,
        links,
        cswap,
        choices,
        model("vgg19", load_machine(CSWAP_MACHINES[0])).situation("zv", 1.0).exposed(),
        {policy: vgg.step(policy, "zv", 0.5).memory for policy in ("none", "vdnn_all", "cdma")},
        [_offload(model(name, maxwell).with_batch(batch)) for name, batch in _VDNN.items()],
        {name: sum(layer.kind == "relu" for layer in load_network(name).layers) for name in CSWAP_NETWORKS},
    )


def _offload(model: Model) -> Offload:
    plain, moved = (model.step(policy, "zv", 0.5) for policy in ("none", "vdnn_all"))
    always = model.planner.always_bytes
    return Offload(
        model.network.name,
        model.network.batch,
        plain.peak_bytes,
        _average(plain.memory, plain.seconds) - always,
        moved.peak_bytes,
        _average(moved.memory, moved.seconds) - always,
        1 - plain.seconds / moved.seconds,
    )


def _average(levels: Sequence[tuple[float, float]], seconds: float) -> float:
    """The mean over time of what is so much from each time on."""
    ends = [*(time for time, _ in levels[1:]), seconds]
    return sum(used * (end - begin) for (begin, used), end in zip(levels, ends, strict=True)) / seconds


def compare(result: Study, assumptions: Assumptions, measured: Mapping[str, float]) -> list[Comparison]:
    """The figures of ``data/paper.toml`` beside ours, which are those of these assumptions, or are measured."""
    cswap = [
        (machine, by_policy)
        for by_machine in result.cswap.values()
        for machine, by_policy in by_machine.items()
    ]
    rows = {name: by_policy["cdma", "zv"] for name, by_policy in result.speedup.items()}
    best = max(result.ratio_maximum[name]["zv"] for name in PAPER_NETWORKS)
    v100 = [by_policy for machine, by_policy in cswap if machine == CSWAP_MACHINES[0]]
    shares = [row["cswap"].step_s / row["vdnn_all"].step_s for row in v100]
    waits = [
        (row["cswap"].step_s - row["cswap"].compute_s) / (row["vdnn_all"].step_s - row["vdnn_all"].compute_s)
        for row in v100
    ]
    offloads = {row.network: row for row in result.vdnn}
    ours = {
        **headlines(rows, best, cswap, assumptions),
        **{f"vdnn_memory_{name}": row.saved for name, row in offloads.items()},
        "vdnn_vgg16_needed": offloads["vgg16"].needed / 1e9,
        "vdnn_vgg16_slower": offloads["vgg16"].slower,
        "cswap_time_saved": 1 - _mean(shares),
        "cswap_waits_saved": 1 - min(waits),
        **measured,
    }
    table = read_toml(DATA / "paper.toml")
    return [row.read(Comparison, ours=ours[row.text("quantity")]) for row in table.rows("figure")]


def _over_link(model: Model) -> tuple[float, float]:
    return model.evaluate("cdma").speedup_over_vdnn, model.evaluate("oracle").speedup_over_vdnn


def _choices(model: Model) -> list[Choice]:
    """Returns the decisions of CSWAP at the beginning of every epoch."""
    epochs = model.planner.assumptions.kernels.epochs
    start = model.situation("zv", 0.0)
    names = [item.name for item in model.planner.offloadable]
    result = []
    for epoch in range(epochs):
        compress = start.at(epoch / epochs).kernel_decisions()
        left_alone = tuple(name for name, chosen in zip(names, compress, strict=True) if not chosen)
        result.append(Choice(epoch, len(names), sum(compress), left_alone))
    return result


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
