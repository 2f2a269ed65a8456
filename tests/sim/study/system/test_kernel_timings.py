"""Columns of timings, their medians, and the measurement that comes with the package."""

from __future__ import annotations

import numpy as np
import pytest

from cdma.sim.study.system.kernel_timings import DIRECTIONS, measured_timings, timings_of

ROWS = [
    {"bytes": size, "density": density, "compress_s": seconds, "decompress_s": 2 * seconds, "copy_s": copy}
    for size, density, seconds, copy in [
        (10.0, 0.0, 1.0, 1.0),
        (20.0, 0.0, 2.0, 3.0),
        (20.0, 1.0, 4.0, 2.0),
        (20.0, 0.0, 3.0, 2.0),
        (20.0, 0.0, 9.0, 2.0),
    ]
]


def test_medians_of_each_size_and_density() -> None:
    known = timings_of(ROWS)
    medians = known.medians()
    assert np.array_equal(medians.bytes, [10, 20, 20])
    assert np.array_equal(medians.density, [0, 0, 1])
    assert np.array_equal(medians.seconds["compress"], [1, 3, 4])
    assert np.array_equal(medians.seconds["decompress"], [2, 6, 8])
    assert np.array_equal(medians.bytes[known.pairs()], known.bytes)
    assert np.array_equal(medians.density[known.pairs()], known.density)


def test_copies_are_those_of_the_largest_size() -> None:
    known = timings_of(ROWS)
    assert known.largest == 20
    assert known.largest_copy_s == 2
    assert known.copies("compress", 0.0) == pytest.approx(3 / 2)
    assert known.copies("compress", 0.25) == pytest.approx((3 + 1 / 4) / 2)


def test_measured_times_are_longer_the_denser_the_tensor() -> None:
    known = measured_timings()
    for direction in DIRECTIONS:
        assert known.copies(direction, 0.9) > known.copies(direction, 0.1)
