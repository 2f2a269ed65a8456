"""The measured times of a codec by size and density.

They are those of ``cdma bench software --times``: the compiled codec on one processor, and beside each the time of a copy of
the same tensor. What a codec takes is told in copies, so that it can be told of other memories: a map of a device takes as
many times as long as its copy there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from cdma.base.toml_table import Table, read_json
from cdma.sim.study.recorded import DATA

__all__ = ["DIRECTIONS", "Timings", "measured_timings", "timings_of"]

DIRECTIONS = ("compress", "decompress")


@dataclass(frozen=True)
class Timings:
    """Columns of the measurement, one value for each timing."""

    bytes: NDArray[np.float64]
    density: NDArray[np.float64]
    copy_s: NDArray[np.float64]
    #: By direction.
    seconds: Mapping[str, NDArray[np.float64]]

    def pairs(self) -> NDArray[np.intp]:
        """Returns for each timing which pair of size and density it is of, counted from 0."""
        keys = np.stack([self.bytes, self.density])
        return np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)

    def medians(self) -> Timings:
        """Returns the median of all timings of each size and density, in the order of :meth:`pairs`."""
        which = self.pairs()

        def middle(column: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.array([np.median(column[which == pair]) for pair in range(which.max() + 1)])

        seconds = {direction: middle(column) for direction, column in self.seconds.items()}
        return Timings(middle(self.bytes), middle(self.density), middle(self.copy_s), seconds)

    def part(self, chosen: NDArray[np.bool_]) -> Timings:
        """Returns some of the timings."""
        seconds = {direction: column[chosen] for direction, column in self.seconds.items()}
        return Timings(self.bytes[chosen], self.density[chosen], self.copy_s[chosen], seconds)

    @cached_property
    def largest(self) -> float:
        """The largest size, which stands for all that no cache holds."""
        return float(self.bytes.max())

    @cached_property
    def largest_copy_s(self) -> float:
        """Seconds of a copy of the largest size, the same at all densities."""
        return float(np.median(self.copy_s[self.bytes == self.largest]))

    def copies(self, direction: str, density: float) -> float:
        """Returns how many copies of a tensor of the largest size the codec takes: medians, interpolated in the density."""
        rows = self._largest_medians
        return float(np.interp(density, rows.density, rows.seconds[direction])) / self.largest_copy_s

    @cached_property
    def _largest_medians(self) -> Timings:
        return self.part(self.bytes == self.largest).medians()


@cache
def measured_timings() -> Timings:
    """Returns the measurement that comes with the package."""
    table = read_json(DATA / "software_times.json")
    return timings_of(
        [
            {
                key: row.number(key, least=0)
                for key in ("bytes", "density", "compress_s", "decompress_s", "copy_s")
            }
            for row in _rows(table)
        ]
    )


def timings_of(rows: Sequence[Mapping[str, float]]) -> Timings:
    """Returns rows of a measurement as columns."""

    def column(key: str) -> NDArray[np.float64]:
        return np.array([row[key] for row in rows], np.float64)

    seconds = {direction: column(f"{direction}_s") for direction in DIRECTIONS}
    return Timings(column("bytes"), column("density"), column("copy_s"), seconds)


def _rows(table: Table) -> list[Table]:
    rows = table.rows("rows")
    for remark in ("source", "kernels"):
        table.get(remark, None)
    table.done()
    return rows
