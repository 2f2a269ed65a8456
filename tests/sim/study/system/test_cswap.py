"""CSWAP's equations, and the times of its kernels, measured and predicted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cdma.sim.study.system.cswap import CostModel, KernelTimes, Predictor
from cdma.sim.study.system.kernel_law import laws_of
from cdma.sim.study.system.kernel_timings import DIRECTIONS, measured_timings
from tests.support.kernel_timings import SIZES, timings
from tests.support.small_networks import BASE


def test_equations_by_hand() -> None:
    model = CostModel(1000.0, 0.25, 10.0, 20.0, hidden_forward=30.0, hidden_backward=10.0)
    assert model.plain == pytest.approx((100 - 30) + (50 - 10))
    assert model.compressed(4.0, 5.0) == pytest.approx(4 + 5 + 0 + (12.5 - 10))
    assert model.worth_it(50.0, 57.0)
    assert not model.worth_it(50.0, 58.0)
    hidden = CostModel(1000.0, 0.25, 10.0, 20.0, hidden_forward=200.0, hidden_backward=200.0)
    assert hidden.plain == 0
    assert not hidden.worth_it(1e-9, 0.0)


def test_prediction_is_in_copies_of_the_largest_tensor() -> None:
    known = timings(lambda size, density: size * 1e-10 * (1 + density), copy_s_per_byte=1e-10)
    times = KernelTimes(replace(BASE.kernels, dram_share=1.0, launch_us=10.0), 400e9)
    predictor = Predictor(times, known, laws_of(known))
    # A copy of 200 MB moves 400 MB, in a millisecond; no such tensor was timed.
    assert max(SIZES) < 200e6
    assert predictor.seconds("compress", 2e8, 0.5) == pytest.approx(1.5e-3 + 10e-6)


def test_a_kernel_takes_as_many_copies_as_measured() -> None:
    times = KernelTimes(replace(BASE.kernels, dram_share=0.5, launch_us=0.0), 400e9)
    seconds = times.cost("compress", 1e9, 0.5, 5e8).seconds
    assert seconds == pytest.approx(measured_timings().copies("compress", 0.5) * 2e9 / 200e9)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_predictions_are_near_to_what_was_measured(direction: str) -> None:
    times = KernelTimes(BASE.kernels, 400e9)
    predictor = times.learnt()
    for density in np.linspace(0.1, 0.9, 9):
        measured = times.cost(direction, 1e9, density, 0.0).seconds
        assert predictor.seconds(direction, 1e9, density) == pytest.approx(measured, rel=0.15)
