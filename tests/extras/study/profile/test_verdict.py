"""What the profile advises, what that rests on, and where it changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma.sim.codec.tensor_profile import profile
from cdma.study.profile.link import Hidden, Settings
from cdma.study.profile.report import Report
from cdma.study.profile.verdict import advise
from tests.support.tensors import noise, unlike_tensors

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
