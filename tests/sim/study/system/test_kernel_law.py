"""The regression of a codec's times, on times whose law is known."""

from __future__ import annotations

import numpy as np
import pytest

from cdma.sim.study.system.kernel_law import fitted, fitted_linear, laws_of
from cdma.sim.study.system.kernel_timings import DIRECTIONS
from tests.support.kernel_timings import DENSITIES, SIZES, timings

#: Bytes of a cache; of a tensor and its stream together, the smallest here are well within, the largest well beyond.
CACHE = 24e6


def linear(size: float, density: float) -> float:
    return 1e-6 + size * 3e-11 * (1 + density)


def bent(size: float, density: float) -> float:
    """Slower beyond a cache, and slower still for a tensor without zeros."""
    beyond = max(size - CACHE / (1 + density), 0.0)
    slope = 2e-11 * (1 + density) * (2 if density == 1 else 1)
    return 1e-6 + size * 3e-11 + beyond * slope


def deviation(law: float, truth: float) -> float:
    return abs(law / truth - 1)


def test_learns_what_is_linear() -> None:
    known = timings(linear)
    for law in (*laws_of(known).values(), fitted_linear(known, "compress")):
        for size, density in [(5e6, 0.05), (3e7, 0.33), (1e9, 0.97)]:
            assert law.seconds(size, density) == pytest.approx(linear(size, density))


def test_finds_the_bend() -> None:
    known = timings(bent)
    law = fitted(known, "compress")
    # Places that are tried are a factor of 1.5 apart.
    assert CACHE / 1.5 < law.bend < CACHE * 1.5
    errors = [
        deviation(law.seconds(size, density), bent(size, density)) for size in SIZES for density in DENSITIES
    ]
    assert np.mean(errors) < 0.03
    straight = fitted_linear(known, "compress")
    assert deviation(straight.seconds(SIZES[0], 0.5), bent(SIZES[0], 0.5)) > 0.1


def test_noise_averages_out() -> None:
    laws = laws_of(timings(bent, noise=0.1, rounds=5))
    for direction in DIRECTIONS:
        errors = [
            deviation(laws[direction].seconds(size, density), bent(size, density))
            for size in SIZES
            for density in DENSITIES
        ]
        assert np.mean(errors) < 0.04


def test_a_burst_does_not_reach_the_law() -> None:
    """If the first of three rounds takes ten times as long, medians, and so the law, are as they were."""
    known = timings(bent, rounds=3)
    calm = fitted(known, "compress")
    known.seconds["compress"][: len(SIZES) * len(DENSITIES)] *= 10
    disturbed = fitted(known, "compress")
    assert disturbed.bend == calm.bend
    assert disturbed.weights == pytest.approx(calm.weights)


def test_never_below_nothing() -> None:
    law = fitted_linear(timings(linear), "compress")
    assert law.seconds(-1e9, 0.5) == 0
