"""The errors of the regression on timings held out, where the truth is known and of the measurement that comes along."""

from __future__ import annotations

import math

import pytest

from cdma.sim.study.system.kernel_law_error import held_out_errors
from cdma.sim.study.system.kernel_timings import DIRECTIONS, measured_timings
from tests.support.kernel_timings import DENSITIES, timings


def linear(size: float, density: float) -> float:
    return 1e-6 + size * 3e-11 * (1 + density)


def test_none_where_the_law_is_linear_and_timings_are_exact() -> None:
    for error in held_out_errors(timings(linear)).values():
        assert (error.single, error.median, error.noise, error.linear) == pytest.approx(
            (0, 0, 0, 0), abs=1e-9
        )


def test_noise_is_of_single_timings_and_not_of_the_law() -> None:
    """A mean deviation of 8 % of single timings is that of the truth itself."""
    noise = 0.1
    expected = noise * math.sqrt(2 / math.pi)
    for error in held_out_errors(timings(linear, noise, rounds=9)).values():
        assert error.noise == pytest.approx(expected, rel=0.15)
        assert error.single == pytest.approx(expected, rel=0.15)
        assert error.noise < error.single
        assert error.median < expected / 1.5


def test_what_is_not_in_the_law_is_an_error() -> None:
    """Pairs that no other tells of: held out, each is off by what is its own."""

    def odd(size: float, density: float) -> float:
        return linear(size, density) * (
            1.2 if (DENSITIES.index(density) + int(math.log2(size) * 2)) % 2 else 1
        )

    for error in held_out_errors(timings(odd, rounds=3)).values():
        assert error.noise == pytest.approx(0, abs=1e-9)
        assert error.single == pytest.approx(error.median)
        assert 0.07 < error.median < 0.15


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_measured_times(direction: str) -> None:
    """The law comes to CSWAP's error, which is close to the noise, and a linear one does not."""
    error = held_out_errors(measured_timings())[direction]
    assert error.noise < error.single < 0.055
    assert error.median < error.single
    assert error.linear > 1.5 * error.single
