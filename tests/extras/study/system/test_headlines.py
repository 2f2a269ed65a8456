"""Assumptions, their ranges, and the bands around the headlines that come from these. The verdict: what to do, and where
that changes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.base.toml_table import TableError
from cdma.study.system import headlines as module
from cdma.study.system.headlines import (
    CSWAP_MACHINES,
    CSWAP_POLICIES,
    Band,
    Span,
    bands,
    draws,
    load_ranges,
    variations,
)
from cdma.study.system.machine import Link, default_assumptions_path, load_assumptions
from cdma.study.system.model import Model
from cdma.study.system.policies import POLICIES
from cdma.study.system.verdict import ACTIONS, NOTHING_FITS, verdict
from tests.extras.study.small_networks import BASE, CHAIN, QUICK, RECORDED, flat, model
from tests.support.documents import written

SINGLE = replace(QUICK, training=replace(QUICK.training, moments=1))


def test_a_range_holds_what_is_assumed_and_rates_of_the_host_vary_together() -> None:
    for one in load_ranges():
        assert one.least <= getattr(getattr(BASE, one.section), one.key) <= one.most
        assert one.least < one.most
        assert len(one.reason) > 10
    (host,) = [one for one in variations(BASE, load_ranges()) if one.section == "cpu"]
    there, back = (one for one in load_ranges() if one.section == "cpu")
    ends = [(end.cpu.compress_GBps, end.cpu.decompress_GBps) for end in host.ends]
    assert ends == [(there.least, back.least), (there.most, back.most)]
    assert all(replace(end, cpu=BASE.cpu) == BASE for end in host.ends)


def test_all_assumptions_are_drawn_evenly_and_independently() -> None:
    drawn = draws(BASE, load_ranges(), 8, 1)
    assert drawn == draws(BASE, load_ranges(), 8, 1) != draws(BASE, load_ranges(), 8, 2)
    orders = set()
    for one in load_ranges():
        values = [getattr(getattr(each, one.section), one.key) for each in drawn]
        assert all(one.least <= value <= one.most for value in values)
        parts = [int(8 * math.log(value / one.least, one.most / one.least)) for value in values]
        assert sorted(parts) == list(range(8))
        orders.add(tuple(parts))
    # The two rates of the host keep together, and nothing else does.
    assert len(orders) == len(load_ranges()) - 1
    there, back = (one for one in load_ranges() if one.section == "cpu")
    for each in drawn:
        place = math.log(each.cpu.compress_GBps / there.least, there.most / there.least)
        assert each.cpu.decompress_GBps == pytest.approx(back.at(place))


def test_own_ranges(tmp_path: Path) -> None:
    own = written(tmp_path, '[range.link]\nefficiency = {least = 0.5, most = 0.6, reason = "mine"}\n')
    (one,) = load_ranges(Path(own))
    assert (one.section, one.key, one.least, one.most) == ("link", "efficiency", 0.5, 0.6)
    assert load_ranges(Path(written(tmp_path, "[link]\nefficiency = 0.5\n"))) == load_ranges()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[range.link]\nspeed = {least = 1, most = 2, reason = "r"}', "range.link has 'speed', which is no"),
        ('[range.link]\nefficiency = {least = 1, most = 0.5, reason = "r"}', "most = 0.5"),
        ("[range.link]\nefficiency = {least = 1, most = 1}", "reason"),
    ],
)
def test_refused_ranges(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TableError) as caught:
        variations(BASE, load_ranges(Path(written(tmp_path, text))))
    assert message in str(caught.value)


@pytest.mark.slow
def test_each_band_comes_from_what_moves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DRAWS", 6)
    wanted = [one for one in load_ranges() if (one.section, one.key) == ("compute", "conv_efficiency")]
    wanted += [one for one in load_ranges() if one.section == "cpu"]
    found = bands(SINGLE, wanted, RECORDED, RECORDED, {"empty": flat(0.0)})
    for name, band in found.items():
        assert band.least <= band.value <= band.most, name
    # Activations alone: other activations move it, assumptions do not.
    assert found["ratio_average"].least == found["ratio_average"].most
    assert [span.name for span in found["ratio_average"].widest] == ["densities: empty"]
    speedup, host = found["speedup_average"], found["cswap_over_vdnnpp"]
    assert [span.name for span in speedup.widest if not span.activations] == ["compute: conv_efficiency"]
    assert speedup.least < speedup.value < speedup.most
    assert next(span for span in host.widest if not span.activations).name == "cpu: host rate"
    assert host.most > 1.4 * host.value
    # The bars of the figures by network: the host's rates move vDNN++ alone.
    for policy in CSWAP_POLICIES:
        names = [span.name for span in found[f"step/{policy}/vgg19"].widest if not span.activations]
        assert ("cpu: host rate" in names) == (policy == "vdnn++")
    assert found["step/vdnn_all/vgg19"].least == found["step/vdnn_all/vgg19"].most == 1
    gains = [found[f"gain/{machine}/alexnet"] for machine in CSWAP_MACHINES]
    assert all(one.least < one.most for one in gains)
    # All at once: in the middle of the band where one assumption alone moves it, and nowhere else where none does.
    assert speedup.least < speedup.joint[0] < speedup.joint[1] < speedup.most
    assert found["ratio_average"].joint == (found["ratio_average"].value,) * 2


def test_a_band_is_that_of_the_assumptions() -> None:
    spans = (Span("a", False, 1.9, 2.5), Span("b", True, 1.0, 2.0), Span("c", False, 2.0, 2.0))
    band = Band(2.0, spans, tuple(range(11)))
    assert band.joint == (1, 9)
    assert (band.least, band.most) == (1.9, 2.5)
    assert [span.name for span in band.widest] == ["b", "a"]


def test_assumptions_may_be_given_in_part(tmp_path: Path) -> None:
    assumptions = load_assumptions(Path(written(tmp_path, "[link]\nefficiency = 0.5\n")))
    assert assumptions.link.efficiency == 0.5
    assert assumptions.link.latency_us == BASE.link.latency_us
    assert replace(assumptions, link=BASE.link) == BASE
    assert load_assumptions(default_assumptions_path()) == BASE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[link]\nefficiency = 1.5", "link has efficiency = 1.5; it must be a finite number and more than 0"),
        ("[link]\nspeed = 1", "link has the unknown key 'speed'; it may have efficiency, latency_us"),
        ("[links]\nefficiency = 0.5", "has the unknown key 'links'; it may have codecs, compute"),
        ("[training]\nmoments = 0", "moments = 0; it must be a whole number, 1 or more"),
    ],
)
def test_refused_assumptions(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TableError) as caught:
        load_assumptions(Path(written(tmp_path, text)))
    assert message in str(caught.value)


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
