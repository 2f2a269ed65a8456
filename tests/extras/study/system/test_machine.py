"""Machines and links: those of the package, and those of a user. The roofline, layer by layer, against sums done by
hand. Steps of training: computation, transfers, and the memory that they take.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cdma.base.errors import ParameterError
from cdma.base.toml_table import TableError
from cdma.study.system.machine import Link, link_names, load_link, load_machine, machine_names
from cdma.study.system.networks import load_network
from cdma.study.system.policies import plan
from tests.extras.study.small_networks import BASE, CHAIN, situation
from tests.support.documents import MACHINE, written


def test_machine_of_ones_own(tmp_path: Path) -> None:
    machine = load_machine(written(tmp_path, MACHINE))
    assert machine.link == Link("short", 40e9, 40e9)
    assert machine.engine.fetch_bytes_per_s == pytest.approx(20e3 / 300e-9)
    assert machine.with_read_bandwidth(200e9).engine.fetch_bytes_per_s == pytest.approx(200e9)


def test_a_link_of_two_rates(tmp_path: Path) -> None:
    text = MACHINE.replace("GBps = 40.0", "d2h_GBps = 12.0, h2d_GBps = 10.0")
    link = load_machine(written(tmp_path, text)).link
    assert link == Link("short", 12e9, 10e9)
    assert link.with_rates(None, 6.0) == Link("12+6GBps", 12e9, 6e9)
    assert link.with_rates(6.0, None) == Link("6+10GBps", 6e9, 10e9)
    assert link.at(24e9) == Link("short", 24e9, 20e9)


def test_bundled_machines_and_links() -> None:
    assert {load_machine(name).name for name in machine_names()} == set(machine_names())
    assert {load_link(name).name for name in link_names()} == set(link_names())
    # The papers' rule: a buffer of bandwidth times latency.
    assert load_machine("titan_x_maxwell").engine.fetch_bytes_per_s == pytest.approx(200e9)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tflops = 10", "tflops = nan", "gpu has tflops = nan; it must be a finite number and more than 0"),
        ("tflops = 10", "", "gpu has no 'tflops', which it needs"),
        ("lanes = 8", "lanes = 7", "lanes is 7; it must be one of 1, 2, 4"),
        ("latency_ns = 300", "latency_ns = -3", "latency_ns = -3; it must be a finite number and at least 0"),
        ("units = 4", "units = 4\ncolour = 3", "engine has the unknown key 'colour'; it may have buffer_KB"),
        (
            "GBps = 40.0}",
            "GBps = 40.0, h2d_GBps = 3}",
            "link has the unknown key 'h2d_GBps'; it may have GBps, name",
        ),
        ("GBps = 40.0}", "d2h_GBps = 40.0}", "link has no 'h2d_GBps', which it needs"),
        ('{name = "short", GBps = 40.0}', '"pcie9"', "link is 'pcie9'; it must be one of pcie3, pcie4"),
    ],
)
def test_refused_machines(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in MACHINE
    with pytest.raises(ParameterError if "lanes" in old else TableError) as caught:
        load_machine(written(tmp_path, MACHINE.replace(old, new)))
    assert message in str(caught.value)


def test_ports_follow_from_the_rest_or_are_given(tmp_path: Path) -> None:
    machine = load_machine("titan_xp")
    assert machine.port_bytes_per_s == machine.with_links(4).port_bytes_per_s == 32e9
    assert machine.with_link(load_link("nvlink2")).port_bytes_per_s == 75e9
    assert machine.crossbar_bytes_per_s == pytest.approx(547.7e9 / 6)
    text = MACHINE.replace("tflops = 10", "tflops = 10\ncrossbar_GBps = 70")
    own = load_machine(written(tmp_path, text.replace("units = 4", "units = 4\nport_GBps = 12")))
    assert (own.port_bytes_per_s, own.crossbar_bytes_per_s) == (12e9, 70e9)


def test_peak_without_offload_by_hand() -> None:
    """All kept maps at once, and no more gradients than there are maps."""
    planner = situation(CHAIN).planner
    sizes = {item.name: planner.bytes_of(item) for item in planner.maps}
    always = CHAIN.parameters * 4 * 3 + 256 * 2**20
    kept = sizes["input"] + sizes["a"] + sizes["b"] + sizes["p"] + sizes["c"]
    step = planner.run({})
    computed = sum(cost.seconds for cost in (*planner.forward, *planner.backward, planner.update))
    assert (step.seconds, step.link_bytes) == (pytest.approx(computed), 0), "computation without a wait"
    assert step.peak_bytes >= always + kept
    assert step.peak_bytes <= always + kept + sizes["a"] + sizes["b"] + sizes["c"] + sizes["f"]


def test_one_offload_at_a_time_by_default() -> None:
    here = situation(load_network("alexnet"))
    step = here.planner.run(plan("vdnn_all", here))
    spans = {task.name: span for task, span in zip(step.tasks, step.spans, strict=True)}
    # norm0 offloads conv0, pool0 offloads norm0: the second waits for the first.
    assert spans["forward pool0"].start >= spans["offload conv0"].end
    assert spans["offload conv0"].start == spans["forward norm0"].start
    assert spans["backward norm0"].start >= spans["prefetch conv0"].end
    deeper = situation(load_network("alexnet"), training=replace(BASE.training, lookahead=3))
    assert deeper.planner.run(plan("vdnn_all", deeper)).seconds < step.seconds


def test_hidden_time_is_the_computation_beside_a_transfer() -> None:
    """With offloads alone on a link, a step's wait is what the equations say is exposed."""
    here = situation(load_network("alexnet"))
    planner = here.planner
    hidden = planner.hidden({item.name for item in planner.offloadable})
    exposed = 0.0
    for item in planner.offloadable:
        transfer, (forward, backward) = here.plain(item), hidden[item.name]
        exposed += max(transfer.offload.seconds - forward, 0) + max(transfer.prefetch.seconds - backward, 0)
    computed = planner.run({}).seconds
    waiting = planner.run(plan("vdnn_all", here)).seconds - computed
    assert waiting == pytest.approx(exposed, rel=0.05)
