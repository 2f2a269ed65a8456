"""Machines and links: those of the package, and those of a user."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.base.errors import ParameterError
from cdma.base.toml_table import TableError
from cdma.study.system.machine import Link, link_names, load_link, load_machine, machine_names
from tests.support.toml_files import MACHINE, written


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
