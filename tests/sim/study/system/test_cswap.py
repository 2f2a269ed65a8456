"""CSWAP's equations, and the times of its kernels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma.sim.study.system.cswap import CostModel, KernelTimes
from tests.support.small_networks import BASE


def test_equations_by_hand() -> None:
    model = CostModel(1000.0, 0.25, 10.0, 20.0, hidden_forward=30.0, hidden_backward=10.0)
    assert model.plain == pytest.approx((100 - 30) + (50 - 10))
    assert model.compressed(4.0, 5.0) == pytest.approx(4 + 5 + 0 + (12.5 - 10))
    hidden = CostModel(1000.0, 0.25, 10.0, 20.0, hidden_forward=200.0, hidden_backward=200.0)
    assert (hidden.plain, hidden.compressed(3.0, 0.0)) == (0, 3)


def test_a_kernel_takes_some_copies_and_a_launch() -> None:
    times = KernelTimes(replace(BASE.kernels, dram_share=0.5, launch_us=10.0), 400e9)
    # A copy of a gigabyte moves two, at half of 400 GB/s; half of the words are not zero.
    assert times.seconds("compress", 1e9, 0.5) == pytest.approx(0.993 * 10e-3 + 10e-6)
    cost = times.cost("decompress", 1e9, 0.45, 5e8)
    assert cost.seconds == pytest.approx((0.722 + 0.797) / 2 * 10e-3 + 10e-6), "between two densities"
    assert cost.dram_bytes == 1.5e9
