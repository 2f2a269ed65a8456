"""Networks that people run in the model: their operations as layers, and whether compressing is worth it."""

from __future__ import annotations

import pytest

from cdma.study.real.record import Operation, Record
from cdma.study.system.density_table import load_densities
from cdma.study.system.feature_maps import feature_maps
from cdma.study.system.machine import load_machine
from cdma.study.system.model import Model
from cdma.study.system.networks import INPUT, recorded_network
from tests.extras.study.small_networks import QUICK
from tests.support.commands import Printed

_OPERATIONS = (
    Operation("conv", [-1], 4096, 100, 50_000, 1.0, 0.7),
    Operation("relu", [0], 4096, 0, 0, 0.5, 0.4),
    Operation("maxpool", [1], 1024, 0, 0, 0.75, 0.5),
    Operation("hardsigmoid", [2], 1024, 0, 0, 0.9, 0.6),
    Operation("mul", [2, 3], 1024, 0, 0, 0.7, 0.5),
    Operation("mul", [4], 1024, 0, 0, 0.7, 0.5),
    Operation("matmul", [5, 2], 256, 0, 9, 1.0, 0.7),
    Operation("gemm", [6], 10, 2570, 2560, 1.0, 0.7),
)


def _record(*operations: Operation) -> Record:
    return Record("small", "small==1", "MIT", "nothing", "noise", 8, 1, {}, (), operations)


def test_operations_are_layers_whose_maps_have_their_own_records() -> None:
    network = recorded_network(_record(*_OPERATIONS))
    kinds = ["conv", "relu", "pool", "silu", "mul", "add", "context", "linear"]
    assert [layer.kind for layer in network.layers] == kinds
    assert network.layers[0].inputs == (INPUT,)
    assert network.layers[4].inputs == ("2:maxpool", "3:hardsigmoid")
    assert (network.parameters, network.macs) == (2670, 52_569)
    assert network.bytes_of("1:relu") == 2 * 4096
    maps = {item.name: item for item in feature_maps(network)}
    # A ReLU works in place, so what is moved has its zeros.
    (source,) = maps["0:conv"].sources
    assert (source.fixed, source.packed) == (0.5, 0.4)
    densities = load_densities()
    model = Model(network, load_machine("h100"), QUICK, densities)
    fields, zeros = (model.situation(name, 0.5).compression for name in ("fields", "zv"))
    assert fields.fraction(maps["0:conv"], 0.5) == 0.4
    assert zeros.fraction(maps["0:conv"], 0.5) == pytest.approx(0.5 + 1 / 16)


def test_a_step_of_a_network_in_use_has_a_verdict(printed: Printed) -> None:
    command = "study model step --machine h100 --link pcie5 10gbe --algorithm fields --policy vdnn_all cdma --network crepe"
    rows = printed(*command.split())
    assert {row["machine"] for row in rows} == {"h100/pcie5", "h100/10gbe"}
    assert {row["verdict"]["action"] for row in rows} == {"do not offload"}
    assert {row["speedup_over_vdnn"] > 1.4 for row in rows if row["policy"] == "cdma"} == {True}
