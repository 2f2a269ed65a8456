"""The rows of the system model. Decoding with a cache of keys and values, by hand for a small network and by comparison
for a large one.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cdma.base.errors import ParameterError
from cdma.base.toml_table import Table
from cdma.study.system.assumptions import load_assumptions
from cdma.study.system.decoding import DECODING_POLICIES, decoding, longest_resident
from cdma.study.system.density_table import load_densities, with_transformer
from cdma.study.system.machine import Machine, load_link, load_machine
from cdma.study.system.model import Model, moments
from cdma.study.system.networks import load_network, read_network
from cdma.study.system.policies import POLICIES
from cdma.study.system.traced import trace_events
from tests.extras.study.small_networks import QUICK, RECORDED, flat, model


def test_rows_have_their_columns_and_add_up() -> None:
    rows = model("alexnet").evaluate_all(tuple(POLICIES), ("zv", "rl"))
    assert {row.policy for row in rows} == set(POLICIES)
    for row in rows:
        assert row.step_s >= row.compute_s * (1 - 1e-9)
        assert row.speedup_over_vdnn == pytest.approx(model("alexnet").vdnn_seconds / row.step_s)
    by_name = {(row.policy, row.algorithm): row for row in rows}
    vdnn, cdma = by_name["vdnn_all", "none"], by_name["cdma", "zv"]
    assert vdnn.speedup_over_vdnn == 1
    assert vdnn.traffic_bytes / cdma.traffic_bytes == pytest.approx(cdma.ratio)
    assert by_name["none", "none"].traffic_bytes == 0
    assert ("cdma", "rl") in by_name
    assert ("cswap", "rl") not in by_name


@pytest.mark.parametrize(("density", "ratio"), [(0.0, 32.0), (0.353, 2.6), (1.0, 32 / 33)])
def test_ratio_follows_from_density(density: float, ratio: float) -> None:
    """Of a network in which every map that is offloaded comes after a ReLU: 2.6 is the papers' 35.3 %."""
    assert model("vgg16", densities=flat(density)).evaluate("cdma").ratio == pytest.approx(ratio, rel=2e-3)


def test_sparser_is_never_slower_and_expansion_never_helps() -> None:
    times = [
        model("squeezenet", densities=flat(density)).evaluate("cdma").step_s for density in (0, 0.2, 0.6, 1)
    ]
    assert times == sorted(times)
    assert times[0] < times[-1]
    assert model("squeezenet", densities=flat(1.0)).evaluate("cdma").speedup_over_vdnn < 1


def test_faster_links_leave_less_to_win() -> None:
    machine = load_machine("titan_xp")
    network = load_network("squeezenet")
    rows = [
        Model(network, machine.with_link(load_link(name)), QUICK, RECORDED).evaluate("cdma")
        for name in ("pcie3", "pcie4", "pcie5")
    ]
    assert [row.machine for row in rows] == ["titan_xp/pcie3", "titan_xp/pcie4", "titan_xp/pcie5"]
    assert rows[0].step_s > rows[1].step_s > rows[2].step_s
    assert rows[0].speedup_over_vdnn > rows[2].speedup_over_vdnn


def test_it_fits_or_it_does_not() -> None:
    assert moments(2) == [0.25, 0.75], "the middles"
    network = replace(load_network("vgg16"), batch=256)
    large = Model(network, load_machine("titan_xp"), QUICK, RECORDED)
    assert not large.evaluate("none").fits
    assert large.evaluate("none").peak_bytes > large.machine.gpu.memory_bytes
    assert Model(network, load_machine("a100"), QUICK, RECORDED).evaluate("none").fits


def test_unknown_policy_or_algorithm() -> None:
    with pytest.raises(ParameterError, match="policy is 'all'; it must be one of none, vdnn_all"):
        model().evaluate("all")
    with pytest.raises(ParameterError, match="algorithm is 'zip'; it must be one of zv, rl, zl, zl_hw"):
        model().evaluate("cdma", "zip")


def test_nothing_to_offload_is_told(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(
        'name = "net"\ninput = [3, 8, 8]\nbatch = 8\nlayers = [{name = "a", kind = "fc", units = 8}]\n'
    )
    with pytest.raises(ParameterError, match="network net has no feature map that is kept"):
        Model(load_network(str(path)), load_machine("v100"), QUICK, RECORDED)


def test_trace_has_every_task_and_the_memory() -> None:
    step = model().step("cdma", "zv", 0.5)
    events = trace_events(step)["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == len(step.tasks)
    assert max(event["ts"] + event["dur"] for event in spans) == pytest.approx(1e6 * step.seconds)
    assert max(event["args"]["bytes"] for event in events if event["ph"] == "C") == step.peak_bytes


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
