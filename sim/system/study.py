"""The figures of the papers that the model can answer with one of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cdma.sim.support.data import DATA
from cdma.sim.support.toml_table import read_toml

from .assumptions import Assumptions
from .density_table import DensityTable
from .machine import Machine, load_link, load_machine
from .model import Model, Result, moments
from .networks import load_network

__all__ = ["PAPER_NETWORKS", "Choice", "Comparison", "Study", "compare", "study"]

#: The networks of the cDMA paper.
PAPER_NETWORKS = ("alexnet", "overfeat", "nin", "vgg16", "squeezenet", "googlenet")
_NETWORKS = (*PAPER_NETWORKS, "resnet50")
_CODECS = ("zv", "rl", "zl")
_LINKS = ("pcie3", "pcie4", "pcie5", "nvlink2")
_CSWAP_MACHINES = ("v100", "rtx2080ti")
_READ_GBPS = (12.5, 25, 37.5, 50, 75, 100, 150, 200, 300)


@dataclass(frozen=True)
class Choice:
    """The decisions of CSWAP for one network in one epoch."""

    epoch: int
    maps: int
    compressed: int
    #: Decisions that true kernel times would have made, too.
    right: int
    left_alone: tuple[str, ...]


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
    #: Device memory of VGG-16 over a step, in seconds and bytes, by policy.
    memory: Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True)
class Comparison:
    """A figure of a paper, and ours."""

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
    models = {name: model(name, titan_xp) for name in _NETWORKS}
    speedup: dict[str, dict[tuple[str, str], Result]] = {}
    for name, one in models.items():
        progress(f"{name}: speedup")
        rows = one.evaluate_all(("vdnn_all", "cdma", "oracle"), (*_CODECS, "zl_hw"))
        speedup[name] = {(row.policy, row.algorithm): row for row in rows}
    provision, links, cswap, choices = {}, {}, {}, {}
    for name in _NETWORKS:
        progress(f"{name}: memory bandwidth")
        provision[name] = [
            (rate, model(name, maxwell.with_read_bandwidth(rate * 1e9)).evaluate("cdma").speedup_over_vdnn)
            for rate in _READ_GBPS
        ]
        progress(f"{name}: links")
        links[name] = {link: _over_link(model(name, titan_xp.with_link(load_link(link)))) for link in _LINKS}
        progress(f"{name}: CSWAP")
        cswap[name] = {
            machine: {
                policy: model(name, load_machine(machine)).evaluate(policy)
                for policy in ("vdnn_all", "vdnn++", "static", "cswap")
            }
            for machine in _CSWAP_MACHINES
        }
        choices[name] = _choices(model(name, load_machine(_CSWAP_MACHINES[0])))
    vgg = models["vgg16"]
    return Study(
        {name: {codec: speedup[name]["cdma", codec].ratio for codec in _CODECS} for name in _NETWORKS},
        {name: {codec: _best_ratio(one, codec) for codec in _CODECS} for name, one in models.items()},
        speedup,
        provision,
        links,
        cswap,
        choices,
        {policy: vgg.step(policy, "zv", 0.5).memory for policy in ("none", "vdnn_all", "cdma")},
    )


def compare(result: Study, link_bytes_per_s: float) -> list[Comparison]:
    """Returns the figures of ``data/paper.toml`` beside ours; ``link_bytes_per_s`` is the effective rate of PCIe 3."""
    ratios = [result.ratio_average[name]["zv"] for name in PAPER_NETWORKS]
    best = max(result.ratio_maximum[name]["zv"] for name in PAPER_NETWORKS)
    speedups = [result.speedup[name]["cdma", "zv"].speedup_over_vdnn for name in PAPER_NETWORKS]
    rows = [by_policy for by_machine in result.cswap.values() for by_policy in by_machine.values()]
    ours = {
        "ratio_average": _mean(ratios),
        "ratio_maximum": best,
        "speedup_average": _mean(speedups),
        "speedup_maximum": max(speedups),
        "read_bandwidth_needed": best * link_bytes_per_s / 1e9,
        "cswap_over_vdnn": _mean([row["cswap"].speedup_over_vdnn for row in rows]),
        "cswap_over_vdnnpp": _mean([row["vdnn++"].step_s / row["cswap"].step_s for row in rows]),
    }
    for machine in _CSWAP_MACHINES:
        gains = [_gain(by_machine[machine]) for by_machine in result.cswap.values()]
        ours[f"cswap_over_static_{machine}"] = _mean(gains)
    table = read_toml(DATA / "paper.toml")
    return [
        Comparison(
            row.text("what"),
            row.number("theirs"),
            row.text("source"),
            ours[row.text("quantity")],
            row.text("reason"),
        )
        for row in table.rows("figure")
    ]


def _over_link(model: Model) -> tuple[float, float]:
    return model.evaluate("cdma").speedup_over_vdnn, model.evaluate("oracle").speedup_over_vdnn


def _best_ratio(model: Model, codec: str) -> float:
    times = moments(model.planner.assumptions.training.moments)
    compression = model.situation(codec, 0.5).compression
    return max(1 / compression.fraction(item, time) for item in model.planner.offloadable for time in times)


def _choices(model: Model) -> list[Choice]:
    """Returns the decisions of CSWAP at the beginning of every epoch."""
    epochs = model.planner.assumptions.kernels.epochs
    start = model.situation("zv", 0.0)
    predictor = start.predictor
    result = []
    for epoch in range(epochs):
        decisions = start.at(epoch / epochs).decisions(predictor)
        result.append(
            Choice(
                epoch,
                len(decisions),
                sum(one.predicted for one in decisions),
                sum(one.predicted == one.true for one in decisions),
                tuple(one.name for one in decisions if not one.predicted),
            )
        )
    return result


def _gain(by_policy: Mapping[str, Result]) -> float:
    return by_policy["static"].step_s / by_policy["cswap"].step_s


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
