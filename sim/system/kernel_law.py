"""The measured times of a codec by size and density, and CSWAP's regression of them with its error on timings held out.

The times are those of ``cdma bench software --times``: the compiled codec on one processor, and beside each the time of a
copy of the same tensor. What a codec takes is told in copies, so that it can be told of other memories: a map of a device
takes as many times as long as its copy there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cdma.sim.support.data import DATA
from cdma.sim.support.toml_table import Table, read_json

__all__ = ["DIRECTIONS", "Error", "Timings", "fitted", "held_out_errors", "measured_timings", "timings_of"]

DIRECTIONS = ("compress", "decompress")

#: Parts of the pairs of size and density, each held out once.
_FOLDS = 5


@dataclass(frozen=True)
class Timings:
    """Columns of the measurement, one value for each timing."""

    bytes: NDArray[np.float64]
    density: NDArray[np.float64]
    copy_s: NDArray[np.float64]
    #: By direction.
    seconds: Mapping[str, NDArray[np.float64]]

    def copies(self, direction: str, density: float) -> float:
        """Returns how many copies of a tensor the codec takes at a density: the median of all sizes, interpolated."""
        levels = np.unique(self.density)
        ratios = self.seconds[direction] / self.copy_s
        medians = [float(np.median(ratios[self.density == level])) for level in levels]
        return float(np.interp(density, levels, medians))


@dataclass(frozen=True)
class Error:
    """Mean relative errors of predictions of timings that were held out."""

    #: Linear in the size and in the size times the density, as CSWAP's.
    linear: float
    #: Likewise with the time of a copy in the place of the size.
    copy: float


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


def fitted(
    sizes: NDArray[np.float64], density: NDArray[np.float64], seconds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns weights of a constant, of the size and of the size times the density, by least squares of relative errors."""
    # Absolute errors would be those of the largest tensors alone.
    design = _features(sizes, density) / seconds[:, None]
    return np.asarray(np.linalg.lstsq(design, np.ones(len(seconds)), rcond=None)[0], np.float64)


def held_out_errors(timings: Timings, seed: int = 1) -> dict[str, Error]:
    """Returns the errors by direction; all timings of a size and density are held out together, in five parts."""
    pairs, which = np.unique(np.stack([timings.bytes, timings.density]), axis=1, return_inverse=True)
    part = (np.random.default_rng(seed).permutation(pairs.shape[1]) % _FOLDS)[which.reshape(-1)]
    return {
        direction: Error(
            _error(timings.bytes, timings.density, seconds, part),
            _error(timings.copy_s, timings.density, seconds, part),
        )
        for direction, seconds in timings.seconds.items()
    }


def _error(
    sizes: NDArray[np.float64],
    density: NDArray[np.float64],
    seconds: NDArray[np.float64],
    part: NDArray[np.int64],
) -> float:
    errors = np.empty(len(seconds))
    for held in range(_FOLDS):
        out = part == held
        weights = fitted(sizes[~out], density[~out], seconds[~out])
        errors[out] = np.abs(_features(sizes[out], density[out]) @ weights / seconds[out] - 1)
    return float(errors.mean())


def _features(sizes: NDArray[np.float64], density: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([np.ones(len(sizes)), sizes, sizes * density], axis=1)


def _rows(table: Table) -> list[Table]:
    rows = table.rows("rows")
    for remark in ("source", "kernels"):
        table.get(remark, None)
    table.done()
    return rows
