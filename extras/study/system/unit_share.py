"""How much of what its ports allow an engine with several units reaches, from cycles that were counted on the RTL.

An engine cannot move a tensor faster than its host port takes the compressed bytes, nor than the ports of all units together
take the raw ones. ``data/unit_cycles.json`` has the cycles that engines took beside that bound, which
``cdma study model measure units`` writes under Verilator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from cdma.base.toml_table import Table, TableError, read_json
from cdma.study.recorded import DATA

from .engine_rate import CODEC_DIRECTIONS, DIRECTIONS, EngineLaw, measured_engine_laws

__all__ = ["UnitShares", "fit_shares", "measured_shares"]


@dataclass(frozen=True)
class UnitShares:
    """The shares of one direction: by number of units, points of density and share, of rising densities."""

    points: Mapping[int, tuple[Sequence[float], Sequence[float]]]

    def at(self, units: int, density: float) -> float:
        """Returns the share that so many units reach. Between two measured densities or numbers of units it is that of a
        straight line, and outside of them that of the nearest."""
        counts = sorted(self.points)
        shares = [float(np.interp(density, *self.points[count])) for count in counts]
        return float(np.interp(units, counts, shares))


def fit_shares(rows: Sequence[Table], laws: Mapping[str, EngineLaw]) -> Mapping[str, UnitShares]:
    """Returns the shares by direction, from rows of ``cdma bench units`` and the ``laws`` of engines with one unit.

    A row has ``direction``, ``units``, ``density``, ``memory_latency``, ``bound`` and ``cycles``. Those count whose
    ``pattern`` of literals is the one of tensors, scattered. What the law says that start and end take is left out, since
    the model adds it to each transfer.
    """
    found: dict[str, dict[int, dict[float, float]]] = {direction: {} for direction in DIRECTIONS}
    for row in rows:
        if row.text("pattern") != "scattered":
            continue
        direction = CODEC_DIRECTIONS[row.choice("direction", tuple(CODEC_DIRECTIONS))]
        start = laws[direction].start_up(row.number("memory_latency", least=0))
        busy = row.number("cycles", above=0) - start
        bound = row.number("bound", above=0)
        if busy <= 0:
            raise TableError(
                f"the measured cycles of several units have {bound + busy:g} cycles in a row, no more than start and end"
            )
        of_count = found[direction].setdefault(row.whole("units"), {})
        of_count[row.number("density", least=0, most=1)] = min(bound / busy, 1.0)
    for direction, counts in found.items():
        if not counts:
            raise TableError(f"the measured cycles of several units have no row of direction {direction!r}")
    return {
        direction: UnitShares(
            {
                count: (sorted(shares), [shares[density] for density in sorted(shares)])
                for count, shares in counts.items()
            }
        )
        for direction, counts in found.items()
    }


@cache
def measured_shares(path: Path | None = None) -> Mapping[str, UnitShares]:
    """Returns the shares from a file of measured rows, by default the one that comes with the package."""
    return fit_shares(read_json(path or DATA / "unit_cycles.json").rows("units"), measured_engine_laws())
