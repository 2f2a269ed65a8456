"""The arithmetic of the bench, which needs no card."""

from __future__ import annotations

import pytest

from cdma.gpu.rates import Timing, copy_row, row


def test_shares_are_of_the_least_time_at_the_rate_of_the_copy():
    # The copy moves 2 * 1000 bytes in a second; raw data and stream are 1500, which take 0.75 seconds.
    made = row("card", "data", 1000, Timing("cDMA", 500, [9, 1.5, 1.4], [1, 0.75, 0.1]), [1, 1, 5])
    assert made["ratio"] == 2
    assert made["compress"] == pytest.approx(1000 / 1.5)
    assert made["decompress"] == pytest.approx(1000 / 0.75)
    assert made["share"] == {"compress": pytest.approx(0.5), "decompress": pytest.approx(1)}


def test_the_copy_is_all_that_is_possible():
    made = copy_row("card", "data", 1 << 20, [0.2, 0.1, 0.3])
    assert made["share"] == {"compress": 1, "decompress": 1}
    assert made["ratio"] == 1
    assert made["compress"] == made["decompress"] == (1 << 20) / 0.2
