"""``cdma bench stage``: the rates and latencies that the documents state."""

from __future__ import annotations

import json

import pytest

from cdma.app import main


@pytest.mark.verilator
@pytest.mark.slow
def test_a_beat_per_cycle(capsys: pytest.CaptureFixture[str]) -> None:
    """And a quantiser takes one cycle more for each packet."""
    command = ["bench", "stage", "--number", "bf16", "--lanes", "1"]
    assert main([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["block"] for row in rows} == {"quantiser", "dequantiser"}
    for row in rows:
        quantises = row["block"] == "quantiser"
        assert row["cycles"] == row["bound"] == 8 * row["beats"] + 7 * quantises
        assert row["latency"] == 1 + quantises
        assert row["bytes_per_cycle"] == pytest.approx(2 * 8 * row["beats"] / row["cycles"], abs=0.01)
    assert main([*command, "--markdown"]) == 0
    title, rule, *lines = capsys.readouterr().out.splitlines()
    assert title.startswith("| block | numbers | integers | beats of a packet |")
    assert len(lines) == len(rows) == 12
    assert rule.count("|") == title.count("|")
