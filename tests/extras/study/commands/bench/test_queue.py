"""``cdma study bench queue``: rows for every shape and depth, and the shares that the documents state."""

from __future__ import annotations

import pytest

from cdma.study.compare import queue_rates as module
from tests.support.commands import Printed, Shown


@pytest.mark.slow
def test_rows(printed: Printed) -> None:
    rows = printed("study", "bench", "queue")
    assert [(row["block"], row["word_bits"], row["lanes"], row["queue"]) for row in rows] == [
        (block, bits, 256 // bits, queue)
        for block, queues in (("compressor", (0, 1, 2)), ("decompressor", (0, 2)))
        for bits in (32, 16, 8)
        for queue in queues
    ]
    for row in rows:
        assert 0.99 <= row["activations"] <= 1
        assert row["least"] <= row["activations"]
        assert "kge" not in row
    without, one, full = rows[:3]
    assert {**without, "queue": 1} == one
    assert without["worst"] == pytest.approx(8.125 / 9, abs=0.001)
    assert rows[9]["worst"] == pytest.approx(8.125 / 9, abs=0.001)
    assert full["worst"] == pytest.approx(1, abs=0.001)
    assert without["random"]["0.95"] >= 0.99


def test_table(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rates that are made up: those above are what takes its time."""
    rates = module.QueueRates(0.995, 0.9, {0.5: 1.0, 0.95: 0.99}, 0.9028)
    monkeypatch.setattr(module, "queue_rates", lambda block, config, seed: rates)
    title, rule, *rows = shown("study", "bench", "queue", "--markdown").splitlines()
    assert title.startswith("| block | lanes x bits | queue | activations | least | random 0.5")
    assert len(rows) == 15
    assert all(row.endswith("| 99.50% | 90.0% | 100.00% | 99.00% | 90.3% |") for row in rows)
    assert rule.count("|") == title.count("|")
