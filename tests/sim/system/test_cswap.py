"""CSWAP's equations, and the regression that they use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cdma.sim.system.cswap import CostModel, KernelTimes
from cdma.sim.system.kernel_law import Timings, held_out_errors, measured_timings
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


def linear(noise: float = 0.0) -> Timings:
    """Timings of a codec whose times are linear, with one relative deviation for each."""
    sizes, densities = (part.reshape(-1) for part in np.meshgrid([1e7, 3e7, 1e8], [0.0, 0.3, 0.7, 1.0]))
    copy = sizes * 1e-10
    deviations = np.exp(noise * np.random.default_rng(1).standard_normal((2, len(sizes))))
    seconds = {"compress": copy * (1 + densities), "decompress": copy * (2 + densities / 2)}
    return Timings(
        sizes,
        densities,
        copy,
        {name: seconds[name] * part for name, part in zip(seconds, deviations, strict=True)},
    )


def test_regression_learns_what_is_linear() -> None:
    times = KernelTimes(replace(BASE.kernels, dram_share=1.0, launch_us=10.0), 400e9)
    predictor = times.learnt(linear())
    # A copy of 200 MB moves 400 MB, in a millisecond.
    assert predictor.seconds("compress", 2e8, 0.5) == pytest.approx(1.5e-3 + 10e-6)
    assert predictor.seconds("decompress", 2e8, 0.5) == pytest.approx(2.25e-3 + 10e-6)


def test_errors_are_those_of_timings_held_out() -> None:
    for error in held_out_errors(linear()).values():
        assert error.linear == pytest.approx(0, abs=1e-9)
        assert error.copy == pytest.approx(0, abs=1e-9)
    for error in held_out_errors(linear(0.05)).values():
        assert 0.02 < error.linear < 0.12


def test_measured_times() -> None:
    """The codec takes longer the denser the tensor, and the regression errs by less than a fifth."""
    timings = measured_timings()
    for direction, error in held_out_errors(timings).items():
        assert timings.copies(direction, 0.9) > timings.copies(direction, 0.1)
        assert error.copy < 0.2
        assert timings.copies(direction, 0.45) == pytest.approx(
            (timings.copies(direction, 0.4) + timings.copies(direction, 0.5)) / 2
        )


def test_a_kernel_takes_as_many_copies_as_measured() -> None:
    times = KernelTimes(replace(BASE.kernels, dram_share=0.5, launch_us=0.0), 400e9)
    seconds = times.cost("compress", 1e9, 0.5, 5e8).seconds
    assert seconds == pytest.approx(measured_timings().copies("compress", 0.5) * 2e9 / 200e9)
