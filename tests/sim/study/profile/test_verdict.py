"""What the profile advises, and where that changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma.sim.codec.tensor_profile import profile
from cdma.sim.study.profile.link import Hidden, Settings
from cdma.sim.study.profile.report import Report
from cdma.sim.study.profile.verdict import advise
from tests.support.tensors import noise

SPARSE, DENSE = profile("sparse", noise(0.05, 65536)), profile("dense", noise(1.0, 32768))


def test_compress_until_the_units_are_slower_than_the_link() -> None:
    report = Report((SPARSE,), Settings(units=2, unit_rate=16e9))
    found = advise(report)
    assert found.action == "offload, compress in the engine"
    link = found.changes_at["link_GBps"]
    assert link is not None
    assert link["value"] == pytest.approx(32, rel=2e-3)
    assert link["action"] == "offload without compression"
    faster = replace(report, settings=replace(report.settings, link=link["value"] * 1e9))
    assert advise(faster).action == link["action"]
    assert found.changes_at["memory_GiB"] == {"value": SPARSE.raw / 2**30, "action": "do not offload"}
    assert "GiB free for them: do not offload" in str(found)
    assert "\n" not in str(found)


def test_tensors_that_do_not_shrink_are_compressed_on_no_link() -> None:
    found = advise(Report((DENSE,), Settings()))
    assert found.action == "offload without compression"
    assert found.changes_at["link_GBps"] is None
    assert "no link changes it" in str(found)


def test_hidden_transfers_are_compressed_only_on_a_slower_link() -> None:
    seconds = SPARSE.raw / 12.8e9
    report = Report((SPARSE,), Settings(hidden=Hidden(2 * seconds, 2 * seconds)))
    found = advise(report)
    assert (found.action, found.reason) == (
        "offload without compression",
        "computation hides all transfers as they are",
    )
    link = found.changes_at["link_GBps"]
    assert link is not None
    assert link["value"] == pytest.approx(6.4, rel=2e-3)
    assert link["action"] == "offload, compress in the engine"
