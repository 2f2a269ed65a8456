"""The shares that engines with several units reach, from measured rows."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.base.toml_table import Table, TableError, read_json
from cdma.study.recorded import DATA
from cdma.study.system.engine_rate import (
    DIRECTIONS,
    EngineLaw,
    fit_shares,
    measured_engine_laws,
    measured_shares,
)

_LAWS = dict.fromkeys(DIRECTIONS, EngineLaw(1.0, 2.0, 50.0))


def _rows(*rows: dict[str, Any]) -> list[Table]:
    """The rows in both directions."""
    base = {"memory_latency": 100, "pattern": "scattered"}
    return [
        Table("row", base | {"direction": direction} | row)
        for row in rows
        for direction in ("offload", "prefetch")
    ]


def test_start_and_end_are_left_out_and_only_scattered_literals_count() -> None:
    rows = _rows(
        {"units": 2, "density": 0.5, "bound": 900, "cycles": 1250},
        {"units": 2, "density": 0.5, "bound": 600, "cycles": 1250, "pattern": "one unit"},
    )
    assert fit_shares(rows, _LAWS)["compress"].at(2, 0.5) == pytest.approx(0.9)


def test_straight_lines_between_the_points_and_the_nearest_outside() -> None:
    rows = _rows(
        {"units": 2, "density": 0.2, "bound": 900, "cycles": 1250},
        {"units": 2, "density": 0.4, "bound": 800, "cycles": 1250},
        {"units": 8, "density": 0.2, "bound": 700, "cycles": 1250},
        {"units": 8, "density": 0.4, "bound": 600, "cycles": 1250},
    )
    shares = fit_shares(rows, _LAWS)["decompress"]
    assert shares.at(2, 0.3) == pytest.approx(0.85)
    assert shares.at(5, 0.2) == pytest.approx(0.8)
    assert shares.at(10, 0.9) == pytest.approx(shares.at(8, 0.4)) == pytest.approx(0.6)
    assert shares.at(1, 0.0) == pytest.approx(0.9)


def test_refused_rows() -> None:
    with pytest.raises(TableError, match="no more than start and end"):
        fit_shares(_rows({"units": 2, "density": 0.5, "bound": 90, "cycles": 200}), _LAWS)
    with pytest.raises(TableError, match="no row of direction 'compress'"):
        fit_shares([], _LAWS)


def test_the_measured_ones_are_close_to_one() -> None:
    rows = read_json(DATA / "unit_cycles.json").rows("units")
    assert {row.whole("units") for row in rows} == {1, 2, 4, 6, 8}
    for direction in DIRECTIONS:
        shares = measured_shares()[direction]
        assert all(0.95 < share <= 1 for _, listed in shares.points.values() for share in listed)
    start = measured_engine_laws()["compress"].start_up(100)
    assert 200 < start < 300
