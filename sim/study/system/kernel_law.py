"""CSWAP's regression of the times of a codec from size and density of a tensor.

Seconds are linear in the size up to what caches hold, and linear with another slope beyond: a bend. What has to fit is the
tensor and its stream, so the denser a tensor, the smaller the size at which it bends; where, is found from the timings.
Both slopes depend on the density, piecewise linear between a few knots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .kernel_timings import DIRECTIONS, Timings, measured_timings

__all__ = ["KernelLaw", "fitted", "fitted_linear", "laws_of", "measured_laws"]

#: A tensor with hardly any zeros and one without are told apart: kernels that have nothing to move behave differently.
_KNOTS = (0.0, 0.5, 0.95, 1.0)

#: Places that are tried for the bend.
_BENDS = 11


@dataclass(frozen=True)
class KernelLaw:
    """Seconds of one direction."""

    #: Densities between which the slopes are interpolated.
    knots: tuple[float, ...]
    #: Bytes of a tensor and its stream together from which on the second slopes hold, too.
    bend: float
    #: Seconds of a call; seconds per raw byte at each knot; and likewise what is added beyond the bend.
    weights: NDArray[np.float64]

    def seconds(self, raw_bytes: float, density: float) -> float:
        """Returns the prediction, at least 0."""
        return float(self.all_seconds(np.array([raw_bytes]), np.array([density]))[0])

    def all_seconds(
        self, raw_bytes: NDArray[np.float64], density: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Returns the prediction for each size and density."""
        return np.maximum(_features(raw_bytes, density, self.knots, self.bend) @ self.weights, 0.0)


def fitted(timings: Timings, direction: str) -> KernelLaw:
    """Returns the law with the least mean of relative errors for the medians of timings."""
    medians = timings.medians()
    both = medians.bytes * (1 + medians.density)
    # The last place has nothing beyond it.
    bends = np.geomspace(both.min(), both.max(), _BENDS + 1)[:-1]
    laws = [_fitted(medians, direction, _KNOTS, float(bend)) for bend in bends]
    return min(laws, key=lambda law: _mean_error(law, medians, direction))


def fitted_linear(timings: Timings, direction: str) -> KernelLaw:
    """Returns the law that CSWAP has: linear in the size and in the size times the density, without a bend."""
    return _fitted(timings.medians(), direction, (0.0, 1.0), np.inf)


def laws_of(timings: Timings) -> dict[str, KernelLaw]:
    """Returns the laws by direction."""
    return {direction: fitted(timings, direction) for direction in DIRECTIONS}


@cache
def measured_laws() -> Mapping[str, KernelLaw]:
    """Returns the laws of the measurement that comes with the package."""
    return laws_of(measured_timings())


def _fitted(timings: Timings, direction: str, knots: tuple[float, ...], bend: float) -> KernelLaw:
    seconds = timings.seconds[direction]
    # Absolute errors would be those of the largest tensors alone.
    design = _features(timings.bytes, timings.density, knots, bend) / seconds[:, None]
    weights = np.linalg.lstsq(design, np.ones(len(seconds)), rcond=None)[0]
    return KernelLaw(knots, bend, np.asarray(weights, np.float64))


def _mean_error(law: KernelLaw, timings: Timings, direction: str) -> float:
    predicted = law.all_seconds(timings.bytes, timings.density)
    return float(np.abs(predicted / timings.seconds[direction] - 1).mean())


def _features(
    raw_bytes: NDArray[np.float64], density: NDArray[np.float64], knots: Sequence[float], bend: float
) -> NDArray[np.float64]:
    shares = np.stack([np.interp(density, knots, row) for row in np.eye(len(knots))], axis=1)
    # Of the raw bytes, those after which tensor and stream together are larger than the bend.
    beyond = np.maximum(raw_bytes - bend / (1 + density), 0.0)
    return np.concatenate(
        [np.ones((len(raw_bytes), 1)), raw_bytes[:, None] * shares, beyond[:, None] * shares], axis=1
    )
