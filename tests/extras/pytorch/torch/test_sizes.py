"""Sizes as a user writes them, and what a GPU has free."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import cdma.torch  # noqa: E402
from cdma.base.errors import ParameterError  # noqa: E402
from cdma.torch.sizes import bytes_of  # noqa: E402

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
