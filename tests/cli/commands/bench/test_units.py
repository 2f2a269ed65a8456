"""``cdma bench units``: which engines and cases the options choose, rows that add up, the table and the picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdma.app import main
from cdma.sim.study.recorded import DATA
from tests.support.paths import ROOT

SMALL = [
    *("--latency", "32", "--burst-beats", "8", "--dev-address-bits", "32", "--host-address-bits", "32"),
    *("--dev-data-bits", "64", "--host-data-bits", "64", "--lanes", "2", "--stripe-bytes", "256"),
]
TINY = ["--cycles", "512", "--memory-latency", "10", "--densities", "0", "1", "--patterns", "one-unit"]


@pytest.mark.verilator
@pytest.mark.slow
def test_rows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "units.svg"
    command = ["bench", "units", *SMALL, *TINY, "--unit-counts", "1", "2", "--plot", str(picture)]
    assert main([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["direction"], row["pattern"], row["units"], row["density"]) for row in rows] == [
        (direction, *rest)
        for direction in ("offload", "prefetch")
        for rest in (
            ("scattered", 1, 0.0),
            ("scattered", 1, 1.0),
            ("scattered", 2, 0.0),
            ("scattered", 2, 1.0),
            ("one unit", 2, 0.5),
        )
    ]
    for row in rows:
        assert row["ratio"] == pytest.approx(row["bytes"] / row["compressed_bytes"], abs=1e-3)
        link, device = row["compressed_bytes"] / 8, row["bytes"] / 8 / row["units"]
        assert row["bound"] == max(link, device)
        assert row["bound"] == pytest.approx(512, rel=0.15)
        assert row["share"] == pytest.approx(row["bound"] / row["cycles"], abs=1e-4)
        assert row["link_utilisation"] == pytest.approx(link / row["cycles"], abs=1e-4)
        assert 0.6 < row["share"] < 1
    assert picture.read_text(encoding="utf-8").count("<svg") == 1


@pytest.mark.verilator
@pytest.mark.slow
def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "units", *SMALL, *TINY, "--units", "2", "--directions", "prefetch", "--markdown"]
    assert main(command) == 0
    title, rule, *lines = capsys.readouterr().out.splitlines()
    assert title == "| direction | literals | ratio | 2 units |"
    assert rule == "|---|---|---:|---:|"
    assert [line.rpartition("|")[0].rpartition("|")[0] for line in lines] == [
        "| prefetch | 0.0% of the words | 32.00 ",
        "| prefetch | 100.0% of the words | 0.97 ",
        "| prefetch | in the stripes of one unit | 1.88 ",
    ]


def test_rows_that_were_measured_before(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "units.svg"
    measured = str(DATA / "unit_cycles.json")
    assert main(["bench", "units", "--rows", measured, "--markdown", "--plot", str(picture)]) == 0
    title, _, *lines = capsys.readouterr().out.splitlines()
    assert title == "| direction | literals | ratio | 1 unit | 2 units | 4 units | 6 units | 8 units |"
    results = (ROOT / "docs/results.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line not in results] == []
    assert picture.read_text(encoding="utf-8").count("<svg") == 1
