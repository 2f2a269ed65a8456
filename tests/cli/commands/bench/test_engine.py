"""``cdma bench engine``: which engines and cases the options choose, and rows that add up."""

from __future__ import annotations

import json

import pytest

from cdma.app import main

SMALL = ["--latency", "32", "--burst-beats", "8", "--dev-address-bits", "32", "--host-address-bits", "32"]


@pytest.mark.verilator
@pytest.mark.slow
def test_rows_of_several_widths(capsys: pytest.CaptureFixture[str]) -> None:
    cases = ["--bytes", "4096", "--memory-latencies", "20", "--densities", "0.5", "--directions", "both"]
    assert main(["bench", "engine", *SMALL, "--port-bits", "64", "128", *cases, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    chosen = ("host_data_bits", "lanes", "mode", "direction", "descriptors")
    assert [tuple(row[name] for name in chosen) for row in rows] == [
        (bits, bits // 32, mode, direction, bits // 8)
        for bits in (64, 128)
        for mode in ("zvc", "raw")
        for direction in ("offload", "prefetch")
    ]
    for row in rows:
        assert row["dev_data_bits"] == row["host_data_bits"]
        beats = row["descriptors"] * 4096 * 8 // row["host_data_bits"]
        assert beats == 4096
        assert row["utilisation"] == pytest.approx(beats / row["cycles"], abs=1e-3)
        assert row["utilisation"] > 0.85
