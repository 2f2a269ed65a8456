"""The roofline, layer by layer, against sums done by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma.base.toml_table import Table
from cdma.study.system.assumptions import load_assumptions
from cdma.study.system.layers import Layer
from cdma.study.system.machine import Gpu
from cdma.study.system.networks import Network, read_network
from cdma.study.system.roofline import Cost, backward, forward, update

RATES = replace(load_assumptions().compute, launch_us=0.0)
GPU = Gpu(1e12, 1e11, 1e9)
BATCH = 10

ROWS = [
    {"name": "first", "kind": "conv", "filters": 8, "kernel": 3, "padding": 1},
    {"name": "second", "kind": "conv", "filters": 8, "kernel": 3, "padding": 1, "bias": False},
    {"name": "large", "kind": "conv", "filters": 8, "kernel": 5, "padding": 2, "bias": False},
    {"name": "norm", "kind": "batchnorm"},
    {"name": "relu", "kind": "relu"},
    {"name": "local", "kind": "lrn"},
    {"name": "max", "kind": "pool", "kernel": 2},
    {"name": "mean", "kind": "pool", "kernel": 2, "mode": "average"},
    {"name": "fc", "kind": "fc", "units": 1000, "bias": False},
    {"name": "drop", "kind": "dropout", "rate": 0.5},
    {"name": "prob", "kind": "softmax"},
]
NETWORK: Network = read_network(
    Table("n", {"name": "n", "input": [3, 16, 16], "batch": BATCH, "layers": ROWS})
)


def layer(name: str) -> Layer:
    return NETWORK.layer(name)


def of_memory(moved: float) -> Cost:
    return Cost(moved / (1e11 * RATES.dram_efficiency), moved)


#: Bytes of the maps of 8 channels, at 16 x 16, 8 x 8 and 4 x 4, and of a thousand values.
WIDE, HALF, QUARTER, FLAT = (count * 4 * BATCH for count in (8 * 256, 8 * 64, 8 * 16, 1000))


@pytest.mark.parametrize(
    ("name", "ahead", "back"),
    [
        ("norm", 3 * WIDE + 64, 5 * WIDE),
        ("relu", 2 * WIDE, 3 * WIDE),
        ("local", 2 * WIDE, 4 * WIDE),
        ("max", WIDE + HALF, 2 * (WIDE + HALF)),
        ("mean", HALF + QUARTER, HALF + QUARTER),
        ("drop", 2 * FLAT, 2 * FLAT),
        ("prob", 2 * FLAT, 2 * FLAT),
    ],
)
def test_layers_that_only_move_data(name: str, ahead: float, back: float) -> None:
    assert forward(NETWORK, layer(name), GPU, RATES) == of_memory(ahead)
    assert backward(NETWORK, layer(name), GPU, RATES) == of_memory(back)


def test_convolutions_compute() -> None:
    flops = 2 * BATCH * 8 * 8 * 9 * 256
    assert layer("second").macs * 2 * BATCH == flops
    cost = forward(NETWORK, layer("second"), GPU, RATES)
    assert cost.seconds == pytest.approx(flops / (1e12 * RATES.conv_efficiency * RATES.winograd_gain))
    assert cost.dram_bytes == 2 * WIDE + 8 * 8 * 9 * 4
    both = backward(NETWORK, layer("second"), GPU, RATES)
    assert both.seconds == pytest.approx(2 * cost.seconds)
    assert both.dram_bytes == 2 * cost.dram_bytes
    # Only small kernels gain, and images need no gradient.
    large, first = layer("large"), layer("first")
    seconds = forward(NETWORK, large, GPU, RATES).seconds
    assert seconds == pytest.approx(2 * BATCH * large.macs / (1e12 * RATES.conv_efficiency))
    assert backward(NETWORK, first, GPU, RATES) == forward(NETWORK, first, GPU, RATES)


def test_the_slower_of_arithmetic_and_memory_decides() -> None:
    cost = forward(NETWORK, layer("second"), Gpu(1e12, 1e6, 1e9), RATES)
    assert cost.seconds == pytest.approx(cost.dram_bytes / (1e6 * RATES.dram_efficiency))
    # Fully connected layers read their weights, an update parameter, gradient and momentum.
    weights = 8 * 16 * 1000 * 4
    assert forward(NETWORK, layer("fc"), GPU, RATES).dram_bytes == QUARTER + FLAT + weights
    assert update(NETWORK, GPU, RATES) == of_memory(5 * 4 * NETWORK.parameters)


def test_joins_and_sums_cost_what_is_copied() -> None:
    rows = [
        {"name": "a", "kind": "conv", "filters": 8, "kernel": 1},
        {"name": "b", "kind": "conv", "filters": 8, "kernel": 1, "from": "input"},
        {"name": "s", "kind": "add", "from": ["a", "b"]},
        {"name": "j", "kind": "concat", "from": ["s", "a"]},
    ]
    network = read_network(Table("n", {"name": "n", "input": [3, 16, 16], "batch": BATCH, "layers": rows}))
    assert forward(network, network.layer("s"), GPU, RATES) == of_memory(3 * WIDE)
    assert backward(network, network.layer("s"), GPU, RATES) == Cost(0, 0)
    assert forward(network, network.layer("j"), GPU, RATES, copied=0.5) == of_memory(2 * WIDE)
    assert forward(network, network.layer("j"), GPU, RATES, copied=0.0) == Cost(0, 0)


def test_every_kernel_has_its_start() -> None:
    slow = replace(RATES, launch_us=1e6)
    assert forward(NETWORK, layer("relu"), GPU, slow).seconds == pytest.approx(1, abs=1e-3)
    assert backward(NETWORK, layer("second"), GPU, slow).seconds == pytest.approx(2, abs=1e-3)
