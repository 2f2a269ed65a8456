"""Networks that people run in the model: their operations as layers, and whether compressing is worth it."""

from __future__ import annotations

import pytest

from cdma.base.document import Table
from cdma.study.real.record import Operation, Record, recorded, recorded_names
from cdma.study.real.summary import STEP_LINKS, worth, worth_parts
from cdma.study.system.density_table import load_densities, with_run
from cdma.study.system.feature_maps import feature_maps
from cdma.study.system.machine import load_machine
from cdma.study.system.model import Model
from cdma.study.system.networks import INPUT, load_network, recorded_network
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


def test_every_recorded_network_is_one_of_the_model() -> None:
    densities = with_run(load_densities())
    for name in recorded_names():
        network = load_network(name)
        model = Model(network, load_machine("h100"), QUICK, densities, load_densities())
        assert model.evaluate("cdma", "fields").ratio > 1.25, name
        assert model.evaluate("vdnn_all").step_s > model.compute_seconds
    # The six convolutions of CREPE, with their offsets, and the scales of its normalisations.
    assert load_network("crepe").parameters == 21_502_336


def test_worth_is_what_a_step_takes_that_no_longer_fits() -> None:
    found = worth(recorded("crepe"))
    densities = load_densities()
    fits = [
        Model(load_network("crepe"), load_machine("h100"), QUICK, with_run(densities), densities)
        .with_batch(found.fits + more)
        .evaluate("none")
        .fits
        for more in (0, 1)
    ]
    assert fits == [True, False]
    assert list(found.steps) == list(STEP_LINKS)
    for plain, ours in found.steps.values():
        assert plain > ours >= 1
    _, table = worth_parts([recorded("crepe"), _record()])
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows] == ["crepe"]


def test_a_step_of_a_network_in_use_has_a_verdict(printed: Printed) -> None:
    command = "study model step --machine h100 --link pcie5 10gbe --algorithm fields --policy vdnn_all cdma --network crepe"
    rows = printed(*command.split())
    assert {row["machine"] for row in rows} == {"h100/pcie5", "h100/10gbe"}
    assert {row["verdict"]["action"] for row in rows} == {"do not offload"}
    assert {row["speedup_over_vdnn"] > 1.4 for row in rows if row["policy"] == "cdma"} == {True}
