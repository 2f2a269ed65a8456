"""Copies in wrong order: delays at random change nothing, and each ordering that is broken on purpose is found."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn

from cdma.torch import Cdma, SwapPolicy, Vdnn, VdnnPlusPlus
from cdma.torch.swapping.context import Offload, Settings
from cdma.torch.swapping.pool import HostPool
from cdma.torch.transport import OUT, Transport, WrongReturn
from tests.extras.pytorch.clockwork_link import Awaited, Delayed, Hasty, HeldLink
from tests.support.training import same


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(64, 64), nn.ReLU())))


INPUTS = torch.randn(256, 64, generator=torch.Generator().manual_seed(1))


def gradients(model, context=None, passes=3):
    for _ in range(passes):
        model.zero_grad()
        if context is None:
            loss = model(INPUTS).square().mean()
        else:
            with context:
                loss = model(INPUTS).square().mean()
        loss.backward()
    return [weight.grad.clone() for weight in model.parameters()]


def make(
    policy: SwapPolicy, link: Transport, *, debug: bool = True, device_bytes: int | None = None
) -> tuple[nn.Module, Offload]:
    model = network()
    return model, Offload(model, policy, link, Settings(None, device_bytes, 64 << 20, debug, False))


@pytest.mark.parametrize("policy", [Cdma(), Vdnn(), VdnnPlusPlus()], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_delays_at_random_change_no_bit(policy, seed):
    expected = gradients(network())
    source = random.Random(seed)
    link = Delayed(lambda: source.choice((0, 0, 1e-3, 4e-3)))
    model, context = make(policy, link)
    assert same(expected, gradients(model, context))


class Seeming(Awaited):
    def query(self):
        return True


class Early(HeldLink):
    """Copies out seem to have ended at once."""

    def _begin(self, way, pairs, after):
        copy = super()._begin(way, pairs, after)
        if way == OUT:
            copy.end.__class__ = Seeming
        return copy


class Overtaking(Early):
    """Copies back do not wait for the copy with which the tensor left, besides."""

    def back(self, source, after=None):
        return super().back(source)


# Where there is no room on the device everything leaves, and who needs room waits for copies.
@pytest.mark.parametrize(("broken", "room"), [(Overtaking, None), (Hasty, 1)])
def test_a_copy_that_overtakes_is_found(broken, room):
    """Silent without the debug mode: nothing is raised, and the gradients are wrong."""
    expected = gradients(network(), passes=1)
    model, context = make(Vdnn(), broken(), debug=False, device_bytes=room)
    assert not same(expected, gradients(model, context, passes=1))
    model, context = make(Vdnn(), broken(), device_bytes=room)
    with pytest.raises(WrongReturn, match=r"tensor \S+ of \d+ bytes came back with the CRC"):
        gradients(model, context, passes=1)


def test_a_block_that_is_used_again_too_early_is_found(monkeypatch):
    """The next tensor takes the block while the one before it is still away in it."""

    def again(self, size):
        block = take(self, size)
        if block is not None:
            self.give_back(block)
        return block

    take = HostPool.take
    monkeypatch.setattr(HostPool, "take", again)
    # Without room on the device every tensor leaves: one whose copy has not ended yet would be taken from the device.
    model, context = make(Vdnn(), Delayed(), device_bytes=1)
    with pytest.raises(WrongReturn):
        gradients(model, context, passes=1)


def test_a_stream_that_is_overwritten_before_it_has_left_is_found():
    """The memory of a stream is free once the copy has ended, and not before."""
    model, context = make(Cdma(), Early())
    with pytest.raises((WrongReturn, ValueError)):
        gradients(model, context, passes=1)


def test_an_error_in_a_copy_is_raised_where_the_copy_is_awaited():
    def fail():
        raise OSError("the link is down")

    model, context = make(Vdnn(), Delayed(fail))
    with pytest.raises(OSError, match="the link is down"):
        gradients(model, context, passes=1)
