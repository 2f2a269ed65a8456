"""Around the contexts: the largest batch that fits, found for every memory with few steps; sizes as a user writes them; and
reports as bars.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import cdma.torch
from cdma.base.errors import ParameterError
from cdma.torch import largest_batch
from cdma.torch.door import bytes_of
from cdma.torch.growing import NothingFits


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


def test_refusals() -> None:
    with pytest.raises(ParameterError, match="must return the bytes that it took"):
        largest_batch(lambda batch: None, 1)
    with pytest.raises(ParameterError, match="multiple is 0"):
        largest_batch(lambda batch: 1, 1, multiple=0)
    with pytest.raises(ParameterError, match="most is 0"):
        largest_batch(lambda batch: 1, 1, multiple=8, most=7)
    with pytest.raises(ParameterError, match="memory is 0"):
        largest_batch(lambda batch: 1, 0)


CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)


@pytest.mark.parametrize(
    ("size", "expected"),
    [(7, 7), ("8GiB", 8 << 30), ("1.5 MiB", 3 << 19), ("500MB", 500_000_000), ("2 kib", 2048), ("12B", 12)],
)
def test_sizes_are_bytes(size, expected):
    assert bytes_of("device_bytes", size) == bytes_of("device_bytes", size, CPU) == expected


@pytest.mark.parametrize(
    "size", ["8", "GiB", "-1GiB", "8GBit", "eight", -1, 1.5, True, None, "9999999999GiB"]
)
def test_what_is_no_size_is_refused(size):
    with pytest.raises(ParameterError, match="device_bytes is"):
        bytes_of("device_bytes", size)


def test_auto_is_three_quarters_of_what_a_gpu_has_free_and_what_is_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1000, 5000))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 800)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 200)
    assert bytes_of("device_bytes", "auto", GPU, there=30) == 1200 + 30
    with pytest.raises(
        ParameterError, match="host_bytes is 'auto'; it must be bytes, or a size such as '8GiB'"
    ):
        bytes_of("host_bytes", "auto")


def test_contexts_take_sizes_and_refuse_auto_on_a_processor():
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    contexts = (
        lambda size: cdma.torch.offload(model, device_bytes=size, host_bytes="1GiB", ahead="64MiB"),
        lambda size: cdma.torch.stream(model, device_bytes=size),
        lambda size: cdma.torch.stream(optimizer, device_bytes=size),
        lambda size: cdma.torch.cache(device_bytes=size).update(
            torch.ones(1, 1, 2, 8), torch.ones(1, 1, 2, 8), 0
        ),
    )
    for context in contexts:
        context("1MiB")
        with pytest.raises(ParameterError, match="device_bytes is 'auto', which asks a GPU"):
            context("auto")
        with pytest.raises(ParameterError, match=r"device_bytes is 'much'; .*, or 'auto'"):
            context("much")
