"""How far the regression of a codec's times is off on sizes and densities that it did not learn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .kernel_law import KernelLaw, fitted, fitted_linear
from .kernel_timings import DIRECTIONS, Timings

__all__ = ["Error", "held_out_errors"]

#: Parts of the pairs of size and density, each held out once.
_FOLDS = 5


@dataclass(frozen=True)
class Error:
    """Mean relative errors."""

    #: Of predictions, from single timings that were held out.
    single: float
    #: Of predictions, from medians of each size and density that were held out.
    median: float
    #: Of the median of a size and density, from its single timings: what no prediction can better.
    noise: float
    #: Of predictions by a law linear in size and density, from single timings that were held out.
    linear: float


def held_out_errors(timings: Timings, seed: int = 1) -> dict[str, Error]:
    """Returns the errors by direction; all timings of a size and density are held out together, in five parts."""
    pairs, medians = timings.pairs(), timings.medians()
    part = np.random.default_rng(seed).permutation(len(medians.bytes)) % _FOLDS

    def predicted(learn: Callable[[Timings, str], KernelLaw], direction: str) -> NDArray[np.float64]:
        """The prediction for each pair, by a law that has not seen it."""
        seconds = np.empty(len(part))
        for held in range(_FOLDS):
            law = learn(timings.part(part[pairs] != held), direction)
            out = part == held
            seconds[out] = law.all_seconds(medians.bytes[out], medians.density[out])
        return seconds

    errors = {}
    for direction in DIRECTIONS:
        seconds, middle = timings.seconds[direction], medians.seconds[direction]
        law = predicted(fitted, direction)
        errors[direction] = Error(
            _mean_error(law[pairs], seconds),
            _mean_error(law, middle),
            _mean_error(middle[pairs], seconds),
            _mean_error(predicted(fitted_linear, direction)[pairs], seconds),
        )
    return errors


def _mean_error(predicted: NDArray[np.float64], seconds: NDArray[np.float64]) -> float:
    return float(np.abs(predicted / seconds - 1).mean())
