"""Recorded compression ratios: every codec on every layer, in every number type and layout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cdma.base.toml_table import Table, TableError, read_json
from cdma.study.compare.comparison import BOUNDS, Row
from cdma.study.recorded import DATA

__all__ = ["load_ratios", "ratio_table", "short"]

_COLUMNS = ("network", "layer", "kind", "number_type", "layout", "words", "density")


def _columns(codecs: Sequence[str]) -> list[str]:
    """Returns the name of every value of a row."""
    return [*_COLUMNS, *codecs, *(f"bound {name}" for name in BOUNDS)]


def load_ratios(path: Path | None = None) -> list[Row]:
    """Reads the rows of a ``ratios.json``, by default of the one that comes with the package."""
    table = read_json(path or DATA / "ratios.json")
    names = table.get("codecs")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TableError(f"{table.where} has codecs = {names!r}; it must be a list of names")
    keys = _columns(names)
    rows = []
    for index, values in enumerate(table.get("rows"), 1):
        where = f"{table.where}, row {index}"
        if not isinstance(values, list) or len(values) != len(keys):
            raise TableError(f"{where} is {values!r}; it must be a list of {len(keys)} values")
        row = Table(where, dict(zip(keys, values, strict=True)))
        rows.append(
            row.read(
                Row,
                ratio={name: row.number(name, above=0) for name in names},
                bound={name: row.number(f"bound {name}", above=0) for name in BOUNDS},
            )
        )
    return rows


def ratio_table(rows: Sequence[Row], names: Sequence[str]) -> dict[str, Any]:
    """Returns the rows as a table with one list for each, as :func:`load_ratios` reads it."""
    return {
        "codecs": list(names),
        "columns": _columns(names),
        "rows": [
            [
                *(getattr(row, column) for column in _COLUMNS[:-1]),
                *(short(value) for value in (row.density, *row.ratio.values(), *row.bound.values())),
            ]
            for row in rows
        ],
    }


def short(value: float) -> float:
    """Rounds to five significant digits, which is what a record needs."""
    return float(f"{value:.5g}")
