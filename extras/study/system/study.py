"""The figures of the papers that the model can answer with one of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cdma.base.toml_table import read_toml
from cdma.study.recorded import DATA

from .assumptions import Assumptions
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
from .machine import Machine, load_link, load_machine
from .model import Model, Result
from .networks import load_network

__all__ = ["Choice", "Comparison", "Study", "compare", "study"]

_CODECS = ("zv", "rl", "zl")
_LINKS = ("pcie3", "pcie4", "pcie5", "nvlink2")
_READ_GBPS = (12.5, 25, 50, 100, 200)


@dataclass(frozen=True)
class Choice:
    """The decisions of CSWAP for one network in one epoch."""

    epoch: int
    maps: int
    compressed: int
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
    #: Exposed seconds of each map of VGG-19 on the V100 at the end of the training, plain and compressed by kernels.
    exposed: Sequence[tuple[str, float, float]]
    #: Device memory of VGG-16 over a step, in seconds and bytes, by policy.
    memory: Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True)
class Comparison:
    """A figure of a paper, and ours."""

    #: Its name in ``data/paper.toml``.
    quantity: str
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
    )


def compare(result: Study, assumptions: Assumptions) -> list[Comparison]:
    """Returns the figures of ``data/paper.toml`` beside ours, which are those of these assumptions."""
    cswap = [
        (machine, by_policy)
        for by_machine in result.cswap.values()
        for machine, by_policy in by_machine.items()
    ]
    rows = {name: by_policy["cdma", "zv"] for name, by_policy in result.speedup.items()}
    best = max(result.ratio_maximum[name]["zv"] for name in PAPER_NETWORKS)
    ours = headlines(rows, best, cswap, assumptions)
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
