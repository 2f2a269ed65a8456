"""The largest batch that fits: found for every memory, with few steps, and refused in plain words."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from cdma.base.errors import ParameterError  # noqa: E402
from cdma.torch import largest_batch  # noqa: E402
from cdma.torch.growing import NothingFits  # noqa: E402


@given(st.integers(1, 3000), st.integers(1, 9), st.integers(0, 400))
def test_it_is_the_largest_multiple_that_fits(most: int, multiple: int, beside: int) -> None:
    """A step takes 7 bytes an image, and some beside."""
    memory = beside + 7 * most
    if most < multiple:
        with pytest.raises(
            NothingFits, match=f"batch of {multiple}, the smallest, takes {beside + 7 * multiple}"
        ):
            largest_batch(lambda batch: beside + 7 * batch, memory, multiple=multiple)
        return
    found = largest_batch(lambda batch: beside + 7 * batch, memory, multiple=multiple)
    assert found.batch == most // multiple * multiple
    assert found.peak == found.tried[found.batch] == beside + 7 * found.batch
    assert len(found.tried) <= 2 * (most // multiple).bit_length() + 1


def test_the_last_step_of_a_batch_counts() -> None:
    """The first pass of a policy is without loss, and takes more."""
    seen: list[int] = []

    def step(batch: int) -> int:
        seen.append(batch)
        return batch if batch in seen[:-1] else 100 * batch

    assert largest_batch(step, 20, passes=2).batch == 20
    assert largest_batch(lambda batch: 100 * batch, 200, passes=1).batch == 2


def test_a_card_without_memory_does_not_fit() -> None:
    def step(batch: int) -> int:
        if batch > 11:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return batch

    found = largest_batch(step)
    assert found.batch == 11
    assert found.tried[16] is None
    with pytest.raises(NothingFits, match="more than the GPU gives"):
        largest_batch(step, multiple=12)


def test_a_limit_of_images_is_kept() -> None:
    assert largest_batch(lambda batch: batch, 1 << 40, multiple=3, most=100).batch == 99


def test_refusals() -> None:
    with pytest.raises(ParameterError, match="must return the bytes that it took"):
        largest_batch(lambda batch: None, 1)
    with pytest.raises(ParameterError, match="multiple is 0"):
        largest_batch(lambda batch: 1, 1, multiple=0)
    with pytest.raises(ParameterError, match="most is 0"):
        largest_batch(lambda batch: 1, 1, multiple=8, most=7)
    with pytest.raises(ParameterError, match="memory is 0"):
        largest_batch(lambda batch: 1, 0)


def test_other_errors_of_a_step_are_its_own() -> None:
    def step(batch: int) -> int:
        raise RuntimeError("of the step")

    with pytest.raises(RuntimeError, match="of the step"):
        largest_batch(step, 1)
