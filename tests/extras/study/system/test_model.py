"""The rows of the system model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cdma.base.errors import ParameterError
from cdma.study.system.machine import load_link, load_machine
from cdma.study.system.model import Model, moments
from cdma.study.system.networks import load_network
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
