"""``cdma bench stage``: the rates and latencies that the documents state."""

from __future__ import annotations

import pytest

from tests.support.commands import Printed, Shown


@pytest.mark.verilator
@pytest.mark.slow
def test_a_beat_per_cycle(shown: Shown, printed: Printed) -> None:
    """And a quantiser takes one cycle more for each packet."""
    command = ["bench", "stage", "--number", "bf16", "--lanes", "1"]
    rows = printed(*command)
    assert {row["block"] for row in rows} == {"quantiser", "dequantiser"}
    for row in rows:
        quantises = row["block"] == "quantiser"
        assert row["cycles"] == row["bound"] == 8 * row["beats"] + 7 * quantises
        assert row["latency"] == 1 + quantises
        assert row["bytes_per_cycle"] == pytest.approx(2 * 8 * row["beats"] / row["cycles"], abs=0.01)
    title, rule, *lines = shown(*command, "--markdown").splitlines()
    assert title.startswith("| block | numbers | integers | beats of a packet |")
    assert len(lines) == len(rows) == 12
    assert rule.count("|") == title.count("|")
