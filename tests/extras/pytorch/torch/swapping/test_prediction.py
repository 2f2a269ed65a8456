"""Streams leave before their lengths are known: as long as in the last pass, and again where that was too short."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from cdma.torch import Cdma, coded, offload
from cdma.torch.coded import Codec
from cdma.torch.swapping.context import Offload, Settings
from tests.extras.pytorch.clockwork_link import ClockworkLink, HeldLink
from tests.support.training import same

pytestmark = pytest.mark.usefixtures("one_thread")

WIDTH = 64


class Dial(nn.Module):
    """A network whose ReLU has as many numbers that are not zero as it is told."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.relu, self.last = nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)
        nn.init.zeros_(self.first.weight)

    def density(self, density: float) -> None:
        with torch.no_grad():
            self.first.bias.copy_(
                torch.where(torch.arange(WIDTH) < density * WIDTH, torch.rand(WIDTH) + 1, -1.0)
            )

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.last(self.relu(self.first(inputs)))


def offloaded(model: Dial, *, leaves: bool = True, host_bytes: int | None = None) -> Offload:
    """An offload from which everything has left before the backward pass, or nothing."""
    link = (ClockworkLink if leaves else HeldLink)(1e9, 1e9)
    return Offload(model, Cdma(), link, Settings(host_bytes, None, 64 << 20, True, False))


def gradients(model: Dial, context: Offload | None = None, images: int = 256):
    """Gradients of one step."""
    inputs = torch.ones(images, WIDTH)
    model.zero_grad()
    if context is None:
        loss = model(inputs).sum()
    else:
        with context:
            loss = model(inputs).sum()
        # What has arrived on the host leaves the device.
        context.report  # noqa: B018
    loss.backward()
    # What a ReLU lets pass has its gradient, and what it holds is in that of the layer behind it.
    return [weight.grad.clone() for weight in model.parameters()]


def step(model: Dial, context: Offload, density: float, **how) -> bool:
    """Whether the gradients of a step are those of plain training."""
    model.density(density)
    return same(gradients(model, images=how.get("images", 256)), gradients(model, context, **how))


@pytest.mark.parametrize("leaves", [True, False], ids=["away", "still there"])
def test_a_stream_that_is_longer_than_expected_leaves_again(leaves):
    model = Dial()
    context = offloaded(model, leaves=leaves)
    for density in (0.25, 0.75, 0.75, 0.5):
        assert step(model, context, density)
    # The length of the last pass is the one that is expected: only the second pass had a longer one.
    assert not leaves or context.report.again == 1
    assert context.report.actions == {"compressed": 4}
    assert (context.report.back > 0) == leaves


def test_a_stream_has_memory_for_what_is_expected_and_not_for_the_worst_case(monkeypatch):
    spaces, pack = [], Codec.pack

    def noted(self, flat, format, out):
        spaces.append(out.numel() / flat.nbytes)
        return pack(self, flat, format, out)

    monkeypatch.setattr(Codec, "pack", noted)
    model = Dial()
    context = offloaded(model, leaves=False)
    for density in (0.25, 0.25, 0.75):
        assert step(model, context, density)
    # The third pass has a longer stream, which is made again.
    assert [round(space, 1) for space in spaces] == [0.3, 0.3, 0.3, 0.8]


def test_a_stream_that_does_not_pay_any_more_is_whole_and_then_goes_raw():
    model = Dial()
    context = offloaded(model)
    for density in (0.25, 1, 1):
        assert step(model, context, density)
    assert context.report.again == 1
    assert context.report.rows["relu"].actions == {"compressed": 2, "raw": 1}


def test_a_longer_stream_without_room_on_the_host_stays_as_elements():
    model = Dial()
    # Room for what is expected, and not for what there is.
    context = offloaded(model, host_bytes=24 << 10)
    for density in (0.25, 0.75):
        assert step(model, context, density)
    assert (context.report.again, context.report.full) == (1, 1)


def test_a_copy_is_never_longer_than_the_elements():
    """The margin of a small tensor is larger than what its stream has memory for."""
    model = Dial()
    context = offloaded(model)
    assert step(model, context, 0.875, images=8)
    assert context.report.rows["relu"].actions == {"compressed": 1}
    assert 0 < context.report.rows["relu"].moved <= context.report.rows["relu"].raw


def test_only_the_first_pass_and_every_hundredth_count_what_a_stream_would_store(monkeypatch):
    counted = []

    def analyse(flat, format):
        counted.append(context.report.passes)
        return original(flat, format)

    original = coded.analyse
    monkeypatch.setattr(coded, "analyse", analyse)
    model = Dial()
    context = offload(model, Cdma())
    for _ in range(102):
        gradients(model, context, images=16)
    assert set(counted) == {1, 101}
