"""The verdict: what to do, and where that changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.study.system.machine import Link
from cdma.study.system.model import Model
from cdma.study.system.policies import POLICIES
from cdma.study.system.verdict import ACTIONS, NOTHING_FITS, verdict
from tests.extras.study.small_networks import CHAIN, QUICK, flat, model

ALL = tuple(POLICIES)
CHAIN_MODEL = Model(CHAIN, model().machine, QUICK, flat(0.3))


def with_memory(one: Model, size: float) -> Model:
    machine = one.machine
    return one.on(replace(machine, gpu=replace(machine.gpu, memory_bytes=size)))


def test_a_network_that_fits_is_not_offloaded() -> None:
    found = verdict(model("vgg16"), ALL, ("zv",))
    assert (found.action, found.policy, found.algorithm) == ("do not offload", "none", "none")
    assert found.changes_at["link_GBps"] is None
    line = str(found)
    assert line.startswith("vgg16 on titan_xp, batch 128: do not offload: it fits, 9.14 GiB of 12.00 GiB")
    assert "\n" not in line
    assert "no link from 1/64 to 64 times as large changes it" in line


@pytest.mark.slow
def test_the_answer_changes_where_the_verdict_says() -> None:
    """On both sides of each crossing, one image or a hundredth of a GiB apart."""
    one = model("vgg16")
    found = verdict(one, ALL, ("zv",))
    batch, memory = found.changes_at["batch"], found.changes_at["memory_GiB"]
    assert batch is not None
    assert memory is not None
    assert one.with_batch(int(batch.value) - 1).evaluate("none").fits
    assert not one.with_batch(int(batch.value)).evaluate("none").fits
    beyond = verdict(one.with_batch(int(batch.value)), ALL, ("zv",))
    assert (beyond.action, beyond.policy) == (batch.action, batch.policy)
    back = beyond.changes_at["batch"]
    assert back is not None
    assert (back.value, back.action) == (batch.value - 1, "do not offload")
    assert memory.value * 2**30 < one.evaluate("none").peak_bytes < (memory.value + 0.011) * 2**30


@pytest.mark.parametrize(
    ("asked", "density", "action", "policy"),
    [
        (("vdnn_all", "vdnn_conv"), 0.3, "offload without compression", "vdnn_conv"),
        (("vdnn_all", "cdma"), 0.3, "offload, compress in the engine", "cdma"),
        # Data that do not shrink.
        (("vdnn_all", "cdma"), 1.0, "offload without compression", "vdnn_all"),
        (("static",), 0.3, "offload, compress with kernels", "static"),
    ],
)
def test_each_verdict(asked: tuple[str, ...], density: float, action: str, policy: str) -> None:
    one = model("vgg16", densities=flat(density)).with_batch(180)
    found = verdict(one, asked, ("zv",))
    assert (found.action, found.policy) == (action, policy)
    assert policy in str(found)


def test_nothing_fits() -> None:
    found = verdict(with_memory(CHAIN_MODEL, 2**20), ALL, ("zv",))
    assert (found.action, found.policy, found.algorithm) == (NOTHING_FITS, None, None)
    # The workspace alone takes 256 MiB, which is more than 64 times of what there is.
    assert found.changes_at == {"batch": None, "memory_GiB": None, "link_GBps": None}
    assert "no policy fits into 0.00 GiB" in str(found)


def test_a_faster_link_makes_compression_needless() -> None:
    one = model("vgg16").with_batch(180)
    machine = one.machine
    crossbar = replace(machine.gpu, crossbar_bytes_per_s=1e15)
    one = one.on(replace(machine, gpu=crossbar, engine=replace(machine.engine, port_bytes_per_s=1e15)))
    found = verdict(one, ("vdnn_all", "cdma"), ("zv",))
    assert found.action == "offload, compress in the engine"
    link = found.changes_at["link_GBps"]
    assert link is not None
    assert link.action == "offload without compression"
    assert link.value > found.present["link_GBps"]


@given(
    batch=st.integers(1, 4000),
    memory=st.floats(0.2, 8),
    link=st.floats(0.5, 500),
    density=st.sampled_from([0.0, 0.3, 0.9, 1.0]),
)
@settings(max_examples=8, deadline=None)
def test_the_action_is_the_fastest_policy_that_fits(
    batch: int, memory: float, link: float, density: float
) -> None:
    one = with_memory(Model(CHAIN, model().machine, QUICK, flat(density)).with_batch(batch), memory * 2**30)
    one = one.on(replace(one.machine, link=Link("any", link * 1e9, link * 1e9)))
    found = verdict(one, ALL, ("zv",))
    fitting = [row for row in one.evaluate_all(tuple(ACTIONS), ("zv",)) if row.fits]
    if not fitting:
        assert found.policy is None
        return
    assert found.policy is not None
    assert one.evaluate(found.policy).fits
    assert one.evaluate(found.policy).step_s == pytest.approx(min(row.step_s for row in fitting), rel=1e-9)
    assert ACTIONS[found.policy] == found.action


def test_zero_value_compression_if_it_may_choose() -> None:
    one = model("vgg16").with_batch(180)
    assert verdict(one, ("cdma",), ("zv", "rl", "zl")).algorithm == "zv"
    assert verdict(one, ("cdma", "static"), ("rl",)).algorithm == "rl"
