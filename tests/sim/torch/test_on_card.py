"""Tensors that stay on a card, in Triton's interpreter, which takes the CPU for one: what comes back, and what is held."""

from __future__ import annotations

import pytest

from tests.support.interpreted import torch

from torch import nn  # isort: skip
from cdma.sim.torch import context  # isort: skip
from cdma.sim.torch.context import Saved  # isort: skip
from cdma.sim.torch.policies import Lossless  # isort: skip

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def _the_cpu_is_a_card(monkeypatch):
    monkeypatch.setattr(context, "CARDS", frozenset({"cpu"}))
    monkeypatch.setattr(context, "LEAST_ON_CARD", 1 << 10)


def network():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * 6 * 6, 10),
    )


def gradients(model, images, saved=None):
    model.zero_grad()
    if saved is None:
        model(images).square().mean().backward()
    else:
        with saved:
            loss = model(images).square().mean()
        loss.backward()
    return [each.grad.clone() for each in model.parameters()]


def test_gradients_are_those_of_plain_training():
    model, images = network(), torch.randn(8, 1, 16, 16)
    expected = gradients(model, images)
    saved = Saved(model, Lossless())
    for _ in range(3):
        assert all(map(torch.equal, gradients(model, images, saved), expected))
    assert saved.report.ratio > 1.2
    print(saved.report)
