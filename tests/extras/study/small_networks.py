"""Small networks, and models that are quick to evaluate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cdma.base.toml_table import Table
from cdma.study.system.density_table import DensityTable, LayerRecord, load_densities
from cdma.study.system.feature_maps import Compression
from cdma.study.system.machine import load_assumptions, load_machine
from cdma.study.system.model import Model
from cdma.study.system.networks import Network, load_network, read_network
from cdma.study.system.planner import StepPlanner
from cdma.study.system.policies import Situation

BASE = load_assumptions()
QUICK = replace(BASE, training=replace(BASE.training, moments=2), kernels=replace(BASE.kernels, epochs=3))
RECORDED = load_densities()


def flat(density: float) -> DensityTable:
    """Every layer at one density, always."""
    layer = LayerRecord("relu", "relu", np.array([0.0]), np.array([density]))
    return DensityTable("flat", {"vgg": [layer]}, "vgg")


def model(network: str = "vgg16", machine: str = "titan_xp", densities: DensityTable = RECORDED) -> Model:
    """A model that looks at few moments of the training."""
    return Model(load_network(network), load_machine(machine), QUICK, densities, RECORDED)


def small(*layers: dict[str, object]) -> Network:
    """A network of those layers."""
    return read_network(
        Table("small", {"name": "small", "input": [3, 32, 32], "batch": 64, "layers": list(layers)})
    )


CONV = {"kind": "conv", "filters": 16, "kernel": 3, "padding": 1}
CHAIN = small(
    {"name": "a", **CONV, "relu": True},
    {"name": "b", **CONV, "relu": True},
    {"name": "p", "kind": "pool", "kernel": 2},
    {"name": "c", **CONV, "relu": True},
    {"name": "f", "kind": "fc", "units": 10},
)


def situation(
    network: Network, algorithm: str = "zv", machine: str = "titan_xp", **changes: object
) -> Situation:
    """A network in the middle of its training."""
    assumptions = replace(BASE, **changes)  # type: ignore[arg-type]
    planner = StepPlanner(network, load_machine(machine), assumptions)
    return Situation(planner, Compression(network, RECORDED, algorithm, RECORDED), 0.5)
