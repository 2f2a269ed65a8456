"""``cdma bench units``: which engines and cases the options choose, rows that add up, the table and the picture."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cdma.study.recorded import DATA
from cdma.verif.engine import measure
from cdma.verif.engine.design import EngineDesign
from tests.support.commands import Printed, Shown

SMALL = [
    *("--latency", "32", "--burst-beats", "8", "--dev-address-bits", "32", "--host-address-bits", "32"),
    *("--dev-data-bits", "64", "--host-data-bits", "64", "--lanes", "2", "--stripe-bytes", "256"),
]
TINY = ["--cycles", "512", "--memory-latency", "10", "--densities", "0", "1", "--patterns", "one-unit"]


def test_an_engine_for_each_number_of_units(monkeypatch: pytest.MonkeyPatch, printed: Printed) -> None:
    """With one unit literals are nowhere but scattered."""

    def asked(design: EngineDesign, cases: Sequence[dict[str, Any]], report: Callable[[int], None]) -> Any:
        return [case | {"compressed_bytes": 1, "cycles": 1} for case in cases]

    monkeypatch.setattr(measure, "measure_engine", asked)
    rows = printed("bench", "units", *SMALL, *TINY, "--unit-counts", "1", "2")
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


@pytest.mark.thorough
@pytest.mark.verilator
@pytest.mark.slow
def test_rows_add_up_and_are_shown_again(shown: Shown, printed: Printed, tmp_path: Path) -> None:
    rows = printed("bench", "units", *TINY, "--units", "2")
    assert len(rows) == 6
    for row in rows:
        assert row["ratio"] == pytest.approx(row["bytes"] / row["compressed_bytes"], abs=1e-3)
        link, device = row["compressed_bytes"] / 32, row["bytes"] / 32 / row["units"]
        assert row["bound"] == max(link, device)
        assert row["bound"] == pytest.approx(512, rel=0.15)
        assert row["share"] == pytest.approx(row["bound"] / row["cycles"], abs=1e-4)
        assert row["link_utilisation"] == pytest.approx(link / row["cycles"], abs=1e-4)
        assert 0.6 < row["share"] < 1
    file = tmp_path / "rows.json"
    file.write_text(json.dumps({"units": rows}))
    title, rule, *lines = shown("bench", "units", "--rows", str(file), "--markdown").splitlines()
    assert title == "| direction | literals | ratio | 2 units |"
    assert rule == "|---|---|---:|---:|"
    assert [line.rpartition("|")[0].rpartition("|")[0] for line in lines[3:]] == [
        "| prefetch | 0.0% of the words | 32.00 ",
        "| prefetch | 100.0% of the words | 0.97 ",
        "| prefetch | in the stripes of one unit | 1.88 ",
    ]


def test_rows_that_were_measured_before(shown: Shown, tmp_path: Path) -> None:
    picture = tmp_path / "units.svg"
    measured = str(DATA / "unit_cycles.json")
    title, _, *lines = shown(
        "bench", "units", "--rows", measured, "--markdown", "--plot", str(picture)
    ).splitlines()
    assert title == "| direction | literals | ratio | 1 unit | 2 units | 4 units | 6 units | 8 units |"
    assert len(lines) == 24
    assert picture.read_text(encoding="utf-8").count("<svg") == 1
