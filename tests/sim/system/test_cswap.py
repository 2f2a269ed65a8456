"""CSWAP's equations, and the regression that they use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cdma.sim.system.cswap import CostModel, KernelTimes, learn
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


def test_regression_learns_the_times_of_the_kernels() -> None:
    kernels = replace(BASE.kernels, jitter=0.0, half_rate_MiB=0.0)
    times = KernelTimes(kernels, 400e9)
    fraction = 0.5
    predictor = learn(times, 1e6, 1e9, lambda density: fraction, seed=1)
    for size, density in ((1e6, 0.1), (5e7, 0.5), (9e8, 0.9)):
        assert predictor.seconds(size, density) == pytest.approx(
            times.cost(size, density, size * fraction).seconds, rel=1e-6
        )
    rough = learn(KernelTimes(BASE.kernels, 400e9), 1e6, 1e9, lambda density: fraction, seed=1)
    errors = [
        rough.seconds(size, 0.4) / KernelTimes(BASE.kernels, 400e9).cost(size, 0.4, size / 2).seconds - 1
        for size in np.geomspace(2e6, 9e8, 20).tolist()
    ]
    assert 0 < max(map(abs, errors)) < 0.5
