"""``cdma bench engine``: which engines and cases the options choose, and rows that add up. ``cdma bench units``: which
engines and cases the options choose, rows that add up, the table and the picture.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cdma.app import main
from cdma.study.recorded import DATA
from cdma.verif.engine import measure
from cdma.verif.engine.design import EngineDesign
from tests.support.commands import Printed, Shown

SMALL = ["--latency", "32", "--burst-beats", "8", "--dev-address-bits", "32", "--host-address-bits", "32"]


def test_an_engine_for_each_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With as many lanes as fill its ports, and as many tensors as keep them busy equally long."""

    def asked(
        design: EngineDesign,
        cases: Sequence[dict[str, Any]],
        report: Callable[[int], None],
        *,
        host_period: float,
    ) -> Any:
        assert host_period == 1
        assert design.config.dev_data_bits == design.config.host_data_bits
        return list(cases)

    monkeypatch.setattr(measure, "measure_engine", asked)
    cases = [
        "--bytes", "4096", "--densities", "0.5", "--memory-latencies", "20", "--directions", "offload",
        "both",
    ]  # fmt: skip
    assert main(["bench", "engine", *SMALL, "--port-bits", "64", "128", *cases, "--json"]) == 0
    chosen = ("host_data_bits", "lanes", "direction", "mode", "descriptors")
    assert [tuple(row[name] for name in chosen) for row in json.loads(capsys.readouterr().out)] == [
        (bits, bits // 32, direction, mode, bits // 8)
        for bits in (64, 128)
        for direction in ("offload", "both")
        for mode in ("zvc", "raw")
    ]


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.thorough
def test_rows_add_up(printed: Printed) -> None:
    """Of tensors that begin behind a page's first beat, in one run of host memory and in lists of pages."""
    cases = ["--bytes", "4096", "--memory-latencies", "20", "--densities", "0.5", "--directions", "both"]
    lists = ["--pages", "--lists", "--offsets", "8"]
    rows = printed("bench", "engine", *SMALL, *lists, "--port-bits", "64", *cases)
    assert [(row["mode"], row["paged"], row["direction"]) for row in rows] == [
        (mode, paged, direction)
        for mode in ("zvc", "raw")
        for paged in (False, True)
        for direction in ("offload", "prefetch")
    ]
    for row in rows:
        assert row["offset"] == 8
        beats = row["descriptors"] * 4096 * 8 // row["host_data_bits"]
        assert beats == 4096
        assert row["utilisation"] == pytest.approx(beats / row["cycles"], abs=1e-3)
        assert row["utilisation"] > (0.6 if row["paged"] else 0.85)


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("period", [1.5, 0.4])
def test_the_slower_of_two_clocks_says_the_rate(capsys: pytest.CaptureFixture[str], period: float) -> None:
    """Raw data have as many beats on both ports, so that the busier one is that of the slower clock."""
    cases = ["--bytes", "16384", "--memory-latencies", "20", "--modes", "raw", "--directions", "offload"]
    design = [*SMALL, "--clocks", "host", "--dev-data-bits", "64", "--host-data-bits", "64", "--lanes", "2"]
    words = ["bench", "engine", *design, *cases, "--host-periods", str(period), "--json"]
    assert main(words) == 0
    (row,) = json.loads(capsys.readouterr().out)
    beats = row["descriptors"] * 16384 * 8 // 64
    assert row["host_period"] == period
    assert row["utilisation"] == pytest.approx(beats * max(1, period) / row["cycles"], abs=1e-3)
    assert row["utilisation"] > 0.85


UNITS_SMALL = [
    *("--latency", "32", "--burst-beats", "8", "--dev-address-bits", "32", "--host-address-bits", "32"),
    *("--dev-data-bits", "64", "--host-data-bits", "64", "--lanes", "2", "--stripe-bytes", "256"),
]
TINY = ["--cycles", "512", "--memory-latency", "10", "--densities", "0", "1", "--patterns", "one-unit"]


def test_an_engine_for_each_number_of_units(monkeypatch: pytest.MonkeyPatch, printed: Printed) -> None:
    """With one unit literals are nowhere but scattered."""

    def asked(design: EngineDesign, cases: Sequence[dict[str, Any]], report: Callable[[int], None]) -> Any:
        return [case | {"compressed_bytes": 1, "cycles": 1} for case in cases]

    monkeypatch.setattr(measure, "measure_engine", asked)
    rows = printed("bench", "units", *UNITS_SMALL, *TINY, "--unit-counts", "1", "2")
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
    title, _, *lines = shown("bench", "units", "--rows", str(file), "--markdown").splitlines()
    assert title.startswith("| direction | literals | units | density | ratio |")
    assert [line.split(" | ")[3:5] for line in lines[3:]] == [
        ["0.000", "32.00"],
        ["1.000", "0.97"],
        ["0.500", "1.88"],
    ]


def test_rows_that_were_measured_before(shown: Shown) -> None:
    measured = str(DATA / "unit_cycles.json")
    lines = shown("bench", "units", "--rows", measured).splitlines()
    assert len(lines) > len(json.loads(Path(measured).read_text())["units"]) == 116
