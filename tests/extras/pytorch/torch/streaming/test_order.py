"""Copies of weights in wrong order: delays at random change nothing, and each ordering that is broken on purpose is seen."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn

from cdma.torch.coded import Codec
from cdma.torch.streaming.context import Stream
from cdma.torch.streaming.depot import Depot
from tests.extras.pytorch.clockwork_link import CPU, Delayed
from tests.support.training import Blocks, total

pytestmark = pytest.mark.usefixtures("one_thread")

TOKENS = torch.arange(14).view(2, 7)


def model_and_output() -> tuple[nn.Module, torch.Tensor]:
    model = Blocks().bfloat16()
    with torch.no_grad():
        return model, model(TOKENS)


def streamed(model: nn.Module, link: Delayed, *, raw: bool) -> Stream:
    return Stream(model, Depot(link, Codec(CPU), 2, None, raw=raw), total(model) * 8 // 10, 2)


def is_right(context: Stream, model: nn.Module, expected: torch.Tensor, passes: int = 3) -> bool:
    """Whether all passes have the output of the plain model."""
    with context:
        assert len(context._cold) > context._slots
        return [torch.equal(model(TOKENS), expected) for _ in range(passes)].count(False) == 0


@pytest.mark.parametrize("raw", [False, True], ids=["compressed", "raw"])
@pytest.mark.parametrize("seed", range(3))
def test_delays_at_random_change_no_bit(raw, seed):
    model, expected = model_and_output()
    source = random.Random(seed)
    link = Delayed(lambda: source.choice((0, 0, 1e-3, 4e-3)))
    assert is_right(streamed(model, link, raw=raw), model, expected)


def test_a_block_that_nobody_wants_next_makes_room_for_one_that_is_wanted():
    """Never more blocks are on the device, or on their way, than were planned for."""
    model, _ = model_and_output()
    context, most = streamed(model, Delayed(), raw=True), 0
    fetch = context._depot.fetch

    def counted(held):
        nonlocal most
        fetch(held)
        busy = sum(bool(unit.running) for unit in context._cold if unit.held is not held)
        most = max(most, context._depot.coming + busy)

    context._depot.fetch = counted
    with context:
        for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [0, 2, 4], [1, 1, 3]):
            model.order = order
            model(TOKENS)
        assert most == context._slots
        assert context.report.beyond == 0
