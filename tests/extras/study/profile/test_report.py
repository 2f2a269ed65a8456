"""What the profile advises, what that rests on, and where it changes. Reports of all tensors of a network, and their"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma import ParameterError
from cdma.sim.codec.fit import NothingToProfile, profile
from cdma.study.profile.link import Hidden, Settings
from cdma.study.profile.report import Report, advise
from tests.support.stimuli import noise, tensor, unlike_tensors

SPARSE, DENSE = profile("sparse", noise(0.05, 65536)), profile("dense", noise(1.0, 32768))
NOTHING = Hidden()
COMPRESS, PLAIN = "offload, compress in the engine", "offload without compression"


def test_compress_until_the_units_are_slower_than_the_link() -> None:
    report = Report((SPARSE,), Settings(units=2, unit_rate=16e9, hidden=NOTHING))
    found = advise(report)
    assert found.action == COMPRESS
    link = found.changes_at["link_GBps"]
    assert link is not None
    assert link["value"] == pytest.approx(32, rel=2e-3)
    assert link["action"] == PLAIN
    faster = replace(report, settings=replace(report.settings, link=link["value"] * 1e9))
    assert advise(faster).action == link["action"]
    assert found.changes_at["memory_GiB"] == {"value": SPARSE.raw / 2**30, "action": "do not offload"}
    assert "GiB free for them: do not offload" in str(found)
    assert "\n" not in str(found)


def test_the_verdict_is_of_one_engine_and_says_what_it_rests_on() -> None:
    report = Report(unlike_tensors(), Settings(hidden=NOTHING))
    found = advise(report)
    plain, chosen = report.waits
    assert f"waits {1e3 * chosen:.4g} ms instead of {1e3 * plain:.4g}" in found.reason
    assert chosen > plain * report.apart / report.raw, "what only a format for each tensor would reach"
    assert f"one engine for all tensors, {report.engine}, ratio {report.ratio:.2f}" in found.rests_on
    assert "0 ms of each offload and 0 ms of each prefetch hidden" in found.rests_on
    assert found.rests_on in str(found)


def test_without_what_computation_hides_there_is_no_verdict_for_what_shrinks() -> None:
    report = Report((SPARSE, DENSE), Settings())
    found = advise(report)
    assert found.action is None
    assert "none yet: 1 of 2 tensors" in str(found)
    hidden = found.changes_at["hidden_ms"]
    assert hidden is not None
    assert hidden["action"] == PLAIN
    for part, action in ((0.99, COMPRESS), (1.01, PLAIN)):
        time = part * hidden["value"] * 1e-3
        there = replace(report, settings=replace(report.settings, hidden=Hidden(time, time)))
        assert advise(there).action == action


def test_tensors_that_do_not_shrink_are_compressed_on_no_link_that_is_looked_at() -> None:
    found = advise(Report((DENSE,), Settings()))
    assert found.action == PLAIN
    assert found.changes_at["link_GBps"] is None
    assert "no link from 1/64 to 64 times as fast changes it" in str(found)


def test_hidden_transfers_are_compressed_only_on_a_slower_link() -> None:
    seconds = SPARSE.raw / 12.8e9
    report = Report((SPARSE,), Settings(hidden=Hidden(2 * seconds, 2 * seconds)))
    found = advise(report)
    assert (found.action, found.reason) == (PLAIN, "computation hides all uncompressed transfers")
    link = found.changes_at["link_GBps"]
    assert link is not None
    assert link["value"] == pytest.approx(6.4, rel=2e-3)
    assert link["action"] == COMPRESS


TENSORS = (profile("sparse", noise(0.05, 65536)), profile("dense", noise(1.0, 32768)))


def test_all_figures_are_those_of_one_engine() -> None:
    report = Report(unlike_tensors(), Settings(units=8))
    formats = report.formats()
    assert {fit.format.word_bits for fit in formats} == {8}
    assert report.engine == min(formats, key=lambda fit: fit.compressed)
    assert {transfer.fit.kind for transfer in report.transfers} == {report.engine.kind}
    assert report.compressed == sum(transfer.fit.compressed for transfer in report.transfers)
    assert report.speedup == pytest.approx(report.ratio) == pytest.approx(report.raw / report.compressed)
    assert report.apart < report.compressed
    row = report.as_dict()
    assert (row["compressed_bytes"], row["apart_bytes"]) == (report.compressed, report.apart)
    assert row["tensors"][0]["apart_ratio"] > row["tensors"][0]["ratio"]
    assert f"in one engine, {report.engine}" in str(report)


def test_speedup_of_everything_and_of_what_is_worth_it() -> None:
    report = Report(TENSORS, Settings(units=8, hidden=NOTHING))
    plain = sum(one.raw for one in TENSORS)
    assert report.speedup == pytest.approx(plain / report.compressed)
    better = report.transfers[0].fit.compressed + TENSORS[1].raw
    assert report.speedup_selected == pytest.approx(plain / better)
    assert Report(TENSORS, Settings(hidden=Hidden(1, 1))).speedup_selected == 1
    assert Report(TENSORS, Settings()).speedup_selected is None


@given(
    rate=st.floats(1e6, 1e12),
    densities=st.lists(st.sampled_from([0.0, 0.02, 0.3, 1.0]), min_size=1, max_size=4),
)
def test_units_enough_is_the_least(rate: float, densities: list[float]) -> None:
    known = {density: profile("t", tensor(density, 1024)) for density in set(densities)}
    report = Report(tuple(known[density] for density in densities), Settings(unit_rate=rate))
    limit = 1.01 * report.link_seconds(compressed=True, units=math.inf)
    enough = report.units_enough
    assert 1 <= enough <= report.units_at_peak
    assert report.link_seconds(compressed=True, units=enough) <= limit * (1 + 1e-9)
    assert enough == 1 or report.link_seconds(compressed=True, units=enough - 1) > limit


def test_refusals() -> None:
    with pytest.raises(NothingToProfile, match="there is no tensor to profile"):
        Report((), Settings())
    with pytest.raises(ParameterError, match="are given for 'relu9', but no tensor has that name"):
        Report(TENSORS, Settings(hidden_by_name={"relu9": Hidden()}))
    with pytest.raises(ParameterError, match="but not for 'dense' and not for all"):
        Report(TENSORS, Settings(hidden_by_name={"sparse": Hidden()}))
