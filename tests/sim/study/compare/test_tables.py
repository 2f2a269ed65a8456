"""Tables of frequent values."""

import numpy as np
import pytest

from cdma.sim.codec.fit import frequent_values
from cdma.sim.codec.number_types import quantise
from cdma.sim.study.compare.tables import learn_format


def activations(shape=(4, 8, 6, 6), density=0.4, seed=1):
    random = np.random.default_rng(seed)
    return (random.exponential(1, shape) * (random.random(shape) < density)).astype(np.float32)


class TestTables:
    def test_most_frequent_first_and_the_least_of_equals(self):
        words = np.array([9, 9, 9, 3, 3, 1, 1, 7], np.uint32)
        assert frequent_values(words, 3) == (9, 1, 3)

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
    def test_of_nothing_and_of_few(self, dtype):
        assert frequent_values(np.zeros(0, dtype), 3) == (0,)
        assert frequent_values(np.full(5, 200, dtype), 3) == (200,)

    def test_of_a_large_tensor(self):
        words = np.random.default_rng(2).choice(
            np.array([5, 70_000, 0], np.uint32), 2_000_000, p=[0.2, 0.3, 0.5]
        )
        assert frequent_values(words, 2) == (0, 70_000)

    def test_zero_point(self):
        tensor = activations()
        quantised, zero_point = quantise(tensor, affine=True)
        words = quantised.reshape(-1).view(np.uint8)
        assert learn_format(words, 8, 1).values == (zero_point & 0xFF,) == (128,)
