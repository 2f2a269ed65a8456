"""Codecs of the papers that are rebuilt for their ratios: they keep the error that they say, and count every bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.study.compare import entropy
from cdma.study.compare.bounded_bench import bounded_rows
from cdma.study.compare.entropy import (
    predictive_bytes,
    predictive_differences,
    predictive_integers,
    predictive_restored,
    transformed,
    transformed_within,
)

SHAPES = st.sampled_from([(2, 3, 8, 8), (1, 2, 5, 11), (1, 1, 16, 16), (1, 1, 1, 9)])


def _tensor(shape: tuple[int, ...], seed: int) -> np.ndarray:
    numbers = np.random.default_rng(seed).normal(size=shape)
    return np.maximum(numbers, 0).astype(np.float32)


@given(SHAPES, st.integers(0, 99), st.floats(1e-3, 1))
def test_prediction_keeps_the_bound_and_zeros(shape: tuple[int, ...], seed: int, bound: float) -> None:
    tensor = _tensor(shape, seed)
    differences = predictive_differences(predictive_integers(tensor, bound))
    restored = predictive_restored(differences, bound)
    assert np.abs(restored - tensor).max() <= bound * (1 + 1e-9)
    assert not restored[tensor == 0].any()


def test_prediction_by_hand() -> None:
    """A plane that rises evenly is predicted but for its edges; three symbols have codes of 1, 2 and 2 bits."""
    plane = np.add.outer(np.arange(4), np.arange(4))
    assert predictive_differences(plane).tolist() == [[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
    assert predictive_differences(np.array([3, 3, 5])).tolist() == [3, 0, 2]
    assert predictive_bytes(np.array([0, 0, 1, 2])) == (2 * 1 + 2 * 2) / 8 + 3 * 3


def test_cosines_keep_energy() -> None:
    assert np.allclose(entropy._COSINES @ entropy._COSINES.T, np.eye(8))


def test_the_order_of_a_block_is_that_of_jpeg() -> None:
    assert entropy._ZIGZAG[:10].tolist() == [0, 1, 8, 16, 9, 2, 3, 10, 17, 24]
    assert entropy._ZIGZAG[-4:].tolist() == [47, 55, 62, 63]


@given(SHAPES, st.integers(0, 99), st.floats(0.01, 0.3))
def test_a_transform_has_the_error_that_is_allowed(shape: tuple[int, ...], seed: int, error: float) -> None:
    found = transformed_within(_tensor(shape, seed), error)
    assert found.error <= error
    assert found.size > 0


def test_runs_of_zeros_by_hand() -> None:
    """One block: a 5 of three bits behind 17 zeros, which take a symbol for sixteen, one for the rest, and the end."""
    block = np.zeros((1, 64), np.int64)
    block[0, 17] = 5
    # Three symbols once each have codes of 5 bits together.
    assert entropy._coded(block) == (5 + 3) / 8 + 2 * 3
    block[0, 63] = -1
    # No end, but 45 zeros are two symbols of sixteen more: the symbols have 1, 2 and 2 bits, and -1 has one.
    assert entropy._coded(block) == (3 * 1 + 2 * 2 + 3 + 1) / 8 + 2 * 3


def test_finer_steps_take_more_and_err_less() -> None:
    tensor = _tensor((2, 3, 16, 16), 1)
    coarse, fine = transformed(tensor, 0.01), transformed(tensor, 0.001)
    assert coarse.size < fine.size
    assert coarse.error > 3 * fine.error


def test_rows_are_those_of_all_bounds() -> None:
    rows = list(bounded_rows((-3, -7)))
    assert [row.tensor for row in rows if row.tensor == "all"] == ["all", "all"]
    coarse, fine = (row for row in rows if row.tensor == "all")
    for codec in ("cdma", "sz", "jpeg"):
        assert getattr(coarse, codec) > getattr(fine, codec) > 4
    # A uniform error of at most 2**-7 of a peak.
    assert 0 < fine.error < coarse.error / 4 < 0.25
    assert fine.density == pytest.approx(coarse.density)
