"""Decoding with a cache of keys and values, by hand for a small network and by comparison for a large one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma.base.errors import ParameterError
from cdma.base.toml_table import Table
from cdma.study.system.assumptions import load_assumptions
from cdma.study.system.decoding import DECODING_POLICIES, decoding, longest_resident
from cdma.study.system.density_table import load_densities, with_transformer
from cdma.study.system.machine import Machine, load_machine
from cdma.study.system.model import Model
from cdma.study.system.networks import load_network, read_network

SMALL = {
    "name": "small",
    "input": [1, 1, 8],
    "batch": 2,
    "densities": "transformer",
    "type": "bf16",
    "layers": [
        {"name": "embedding", "kind": "embedding", "vocabulary": 100, "width": 16},
        {"name": "queries", "kind": "linear", "from": "embedding", "units": 16, "bias": False},
        {"name": "keys", "kind": "linear", "from": "embedding", "units": 4, "bias": False},
        {"name": "values", "kind": "linear", "from": "embedding", "units": 4, "bias": False},
        {"name": "attention", "kind": "attention", "from": ["queries", "keys", "values"], "heads": 4}
        | {"causal": True, "fused": True},
        {"name": "words", "kind": "linear", "units": 100, "tied": True, "bias": False},
    ],
}


def _model(network: str | dict[str, object], memory: float | None = None) -> Model:
    machine: Machine = load_machine("a100")
    if memory is not None:
        machine = replace(machine, gpu=replace(machine.gpu, memory_bytes=memory))
    table = load_network(network) if isinstance(network, str) else read_network(Table("small", network))
    return Model(table, machine, load_assumptions(), with_transformer(load_densities()))


def test_sizes_by_hand() -> None:
    """A token has 8 numbers of keys and values, of 2 bytes; there are 1,600 + 384 parameters, as a matrix is shared."""
    memory = 2 * 1984 + 16_000.0
    row = decoding(_model(SMALL, memory), 1_000, "vdnn_all", "zv")
    assert row.cache_bytes == 2 * 1_000 * 8 * 2 == 32_000
    assert row.parameter_bytes == 2 * 1984
    assert row.resident == 0.5
    assert longest_resident(_model(SMALL, memory)) == 500
    assert decoding(_model(SMALL, memory), 500, "none", "zv").fits
    assert not decoding(_model(SMALL, memory), 501, "none", "zv").fits


def test_a_cache_in_the_host_waits_for_the_link() -> None:
    model = _model("llama1b").with_batch(16)
    rows = {policy: decoding(model, 131_072, policy, "fields") for policy in DECODING_POLICIES}
    raw, packed = rows["vdnn_all"], rows["cdma"]
    assert (raw.bottleneck, packed.bottleneck) == ("link", "link")
    assert rows["none"].token_s < rows["oracle"].token_s < packed.token_s < raw.token_s
    # The link carries fewer bytes by the ratio, and nothing else is in the way.
    assert raw.token_s / packed.token_s == pytest.approx(packed.ratio, rel=0.01)
    away = (1 - raw.resident) * raw.cache_bytes
    assert raw.token_s == pytest.approx(away / (model.planner.link_rates[1]), rel=0.01)


def test_a_cache_that_fits_takes_the_same_time_under_every_policy() -> None:
    model = _model("llama1b")
    times = {decoding(model, 2048, policy, "fields").token_s for policy in DECODING_POLICIES}
    assert len(times) == 1
    row = decoding(model, 2048, "none", "fields")
    # All weights and the cache are read for each token, and each layer is started.
    gpu, rates = model.machine.gpu, model.planner.assumptions.compute
    moved = (row.parameter_bytes + row.cache_bytes) / (gpu.dram_bytes_per_s * rates.dram_efficiency)
    assert row.bottleneck == "device memory"
    assert row.token_s == pytest.approx(moved + len(model.network.layers) * rates.launch_us * 1e-6, rel=0.01)


def test_a_network_without_attention_is_refused() -> None:
    with pytest.raises(ParameterError, match="vgg16, which has no attention"):
        decoding(_model("vgg16"), 100, "none", "zv")
