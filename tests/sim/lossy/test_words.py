"""Integers as words of as many bits, and back with their signs."""

import numpy as np
import pytest

from cdma.sim.lossy.words import integers_of, words_of


@pytest.mark.parametrize("bits", [4, 8, 16])
def test_every_integer_is_a_word(bits):
    limit = 1 << bits - 1
    integers = np.arange(-limit, limit).astype(f"i{max(8, bits) // 8}")
    words = words_of(integers, bits)
    assert words.tolist() == [integer % (1 << bits) for integer in range(-limit, limit)]
    assert integers_of(words, bits).tolist() == integers.tolist()
