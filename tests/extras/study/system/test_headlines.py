"""Assumptions, their ranges, and the bands around the headlines that come from these."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from cdma.base.toml_table import TableError
from cdma.study.system import headlines as module
from cdma.study.system.assumptions import default_assumptions_path, load_assumptions
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
from tests.extras.study.small_networks import BASE, QUICK, RECORDED, flat
from tests.support.documents import written

SINGLE = replace(QUICK, training=replace(QUICK.training, moments=1))


def test_a_range_holds_what_is_assumed_and_rates_of_the_host_vary_together() -> None:
    for one in load_ranges():
        assert one.least <= getattr(getattr(BASE, one.section), one.key) <= one.most
        assert one.least < one.most
        assert len(one.reason) > 10
    (host,) = [one for one in variations(BASE, load_ranges()) if one.section == "cpu"]
    assert [(end.cpu.compress_GBps, end.cpu.decompress_GBps) for end in host.ends] == [
        (5.1, 5.9),
        (18.9, 26.2),
    ]
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
