"""Several devices on several links: the bounds, and what one device on one link has to do with them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from cdma.base.errors import ParameterError
from cdma.study.system.assumptions import load_assumptions
from cdma.study.system.density_table import load_densities
from cdma.study.system.machine import Link, load_machine
from cdma.study.system.model import Model
from cdma.study.system.networks import load_network
from cdma.study.system.passage import PARTS
from cdma.study.system.several import COMPUTATION, Several, several

# One policy of each kind: no compression, by the engine map by map, by kernels.
_POLICIES = ("vdnn_all", "cdma_select", "static")
_EPSILON = 1e-9


@cache
def model(machine: str = "titan_xp") -> Model:
    assumptions = load_assumptions(None)
    assumptions = replace(assumptions, training=replace(assumptions.training, moments=2))
    densities = load_densities()
    return Model(load_network("alexnet"), load_machine(machine), assumptions, densities, densities)


@cache
def step(policy: str, devices: int, links: int) -> Several:
    return several(model(), policy, "zv", devices, links)


@pytest.mark.parametrize("policy", [*_POLICIES, "none"])
def test_one_device_on_one_link_is_the_model(policy: str) -> None:
    one, known = several(model(), policy, "zv", 1, 1), model().evaluate(policy)
    assert one.step_s == pytest.approx(known.step_s, rel=1e-12)
    assert one.traffic_bytes == pytest.approx(known.traffic_bytes, rel=1e-12)
    assert one.efficiency == pytest.approx(known.compute_s / known.step_s)


@pytest.mark.parametrize("policy", _POLICIES)
@pytest.mark.parametrize(("devices", "links"), [(3, 1), (1, 3), (4, 2)])
def test_no_part_is_faster_than_it_can_be(policy: str, devices: int, links: int) -> None:
    row = step(policy, devices, links)
    assert set(row.least_s) == set(row.without_s) == {COMPUTATION, *PARTS}
    assert all(seconds <= row.step_s * (1 + _EPSILON) for seconds in row.least_s.values())
    # A transfer that is sooner may take memory bandwidth from the computation when that needs it more.
    assert all(seconds <= row.step_s * 1.001 for seconds in row.without_s.values())
    assert 0 < row.link_use <= 1
    assert row.efficiency <= 1


@pytest.mark.parametrize("policy", _POLICIES)
def test_every_device_moves_its_bytes(policy: str) -> None:
    assert step(policy, 4, 2).traffic_bytes == pytest.approx(4 * step(policy, 1, 1).traffic_bytes)
    row = step(policy, 4, 2)
    rate, _ = model().with_links(2).planner.link_rates
    assert row.traffic_bytes == pytest.approx(2 * row.link_use * rate * row.step_s)


def test_the_use_of_links_is_that_of_both_ways() -> None:
    here = model()
    uneven = here.on(here.machine.with_link(Link("uneven", 16e9, 4e9)))
    row = several(uneven, "vdnn_all", "zv", 1, 1)
    out, back = (row.traffic_bytes / 2 / rate / row.step_s for rate in uneven.planner.link_rates)
    assert row.link_use == pytest.approx((out + back) / 2)
    assert row.least_s["link"] == pytest.approx(back * row.step_s)


@pytest.mark.parametrize("policy", ["cdma", "static"])
def test_more_links_are_never_slower_and_more_devices_never_faster(policy: str) -> None:
    """Unlike with ``cdma_select``, which chooses for each number of links other maps, as if a device had them alone."""
    by_links = [step(policy, 4, links).step_s for links in (1, 2, 4, 16)]
    assert by_links == sorted(by_links, reverse=True)
    by_devices = [step(policy, devices, 1).step_s for devices in (1, 2, 4)]
    assert by_devices == sorted(by_devices)
    # A link for each device is no worse than one for one.
    assert step("cdma", 4, 4).step_s <= step("cdma", 1, 1).step_s * (1 + _EPSILON)


def test_bottlenecks_follow_one_another() -> None:
    """Without compression the link, then the port behind it; with links for all, the port and what is behind that."""
    assert step("vdnn_all", 4, 1).bottleneck == "link"
    assert step("vdnn_all", 4, 1).next_bottleneck == "host port"
    many = step("vdnn_all", 1, 16)
    assert (many.bottleneck, many.next_bottleneck) == ("host port", "crossbar")
    # Where no part makes the computation wait, none is next.
    hidden = step("vdnn_conv", 1, 16)
    assert hidden.bottleneck == hidden.next_bottleneck == COMPUTATION


def test_a_narrow_part_is_found() -> None:
    narrow = model().machine
    for part, machine in (
        ("host port", replace(narrow, engine=replace(narrow.engine, port_bytes_per_s=4e9))),
        ("crossbar", replace(narrow, gpu=replace(narrow.gpu, crossbar_bytes_per_s=4e9))),
        ("codec units", replace(narrow, engine=replace(narrow.engine, clock_hz=2e7, port_bytes_per_s=32e9))),
        ("device memory", narrow.with_read_bandwidth(1e10)),
    ):
        here = model()
        slow = Model(here.network, machine, here.planner.assumptions, load_densities())
        assert several(slow, "cdma", "zv", 1, 4).bottleneck == part


@pytest.mark.parametrize(
    ("policy", "devices", "links", "message"),
    [
        ("cdma", 0, 1, "devices is 0; it must be from 1 to 64"),
        ("cdma", 1, 65, "links is 65; it must be from 1 to 64"),
        ("vdnn++", 1, 1, "it compresses by the processors of the host"),
        ("zip", 1, 1, "policy is 'zip'"),
    ],
)
def test_refusals(policy: str, devices: int, links: int, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        several(model(), policy, "zv", devices, links)
    assert message in str(caught.value)
