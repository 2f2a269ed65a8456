"""Timings of a codec whose law is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cdma.sim.study.system.kernel_timings import DIRECTIONS, Timings

__all__ = ["DENSITIES", "SIZES", "timings"]

SIZES = tuple(np.geomspace(2**22, 2**27, 11))
DENSITIES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)


def timings(
    law: Callable[[float, float], float],
    noise: float = 0.0,
    rounds: int = 1,
    copy_s_per_byte: float = 5e-11,
) -> Timings:
    """Returns timings of the grid in rounds, in both directions, with a relative deviation for each."""
    grid = np.array([(size, density) for _ in range(rounds) for size in SIZES for density in DENSITIES])
    exact = np.array([law(size, density) for size, density in grid])
    random = np.random.default_rng(1)
    seconds = {
        direction: exact * np.exp(noise * random.standard_normal(len(exact))) for direction in DIRECTIONS
    }
    return Timings(grid[:, 0], grid[:, 1], grid[:, 0] * copy_s_per_byte, seconds)
