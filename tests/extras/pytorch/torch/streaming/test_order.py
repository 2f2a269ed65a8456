"""Copies of weights in wrong order: delays at random change nothing, and each ordering that is broken on purpose is seen."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from cdma.torch.streaming.codecs import HostCodec  # noqa: E402
from cdma.torch.streaming.context import Settings, Stream  # noqa: E402
from cdma.torch.streaming.depot import (  # noqa: E402
    PacedLane,
    Ring,
)
from tests.support.streamed_models import Blocks, total  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

TOKENS = torch.arange(14).view(2, 7)
RATE = 1e10
#: A copy that takes so long that what computes would be done before it.
SLOW = 2e6


def model_and_output() -> tuple[nn.Module, torch.Tensor]:
    model = Blocks().bfloat16()
    with torch.no_grad():
        return model, model(TOKENS)


def streamed(model: nn.Module, lane: PacedLane, *, raw: bool, codec: HostCodec | None = None) -> Stream:
    settings = Settings(total(model) * 8 // 10, 2, None, raw)
    return Stream(model, torch.device("cpu"), lane, codec or HostCodec(), settings)


def is_right(context: Stream, model: nn.Module, expected: torch.Tensor, passes: int = 3) -> bool:
    """Whether all passes have the output of the plain model."""
    with context:
        assert len(context._cold) > context._ring.places
        return [torch.equal(model(TOKENS), expected) for _ in range(passes)].count(False) == 0


@pytest.mark.parametrize("raw", [False, True], ids=["compressed", "raw"])
@pytest.mark.parametrize("seed", range(3))
def test_delays_at_random_change_no_bit(raw, seed):
    model, expected = model_and_output()
    source = random.Random(seed)
    lane = PacedLane(RATE, RATE, lambda: source.choice((0, 0, 1e-3, 4e-3)))
    assert is_right(streamed(model, lane, raw=raw), model, expected)


class Hasty(PacedLane):
    """Who waits for a copy goes on before it has arrived."""

    def fetch(self, source, target, after):
        target.fill_(0)
        copy = super().fetch(source, target, after)
        copy.wait = lambda: None
        return copy


def test_a_layer_that_is_read_before_its_copy_has_arrived_is_seen():
    model, expected = model_and_output()
    assert not is_right(streamed(model, Hasty(RATE, SLOW), raw=True), model, expected, passes=1)


class AtOnce(PacedLane):
    """Copies end before what is computed beside them."""

    def fetch(self, source, target, after):
        copy = super().fetch(source, target, after)
        copy.synchronize()
        return copy


def test_a_place_that_is_used_again_too_early_is_seen(monkeypatch):
    """The next layer comes to the place of the one that computes."""

    def take_idle(self, unit, wanted):
        place = take(self, unit, wanted)
        place.busy = False
        return place

    model, expected = model_and_output()
    assert is_right(streamed(model, AtOnce(RATE, RATE), raw=True), model, expected)
    take = Ring.take
    monkeypatch.setattr(Ring, "take", take_idle)
    assert not is_right(streamed(model, AtOnce(RATE, RATE), raw=True), model, expected)


class Clock:
    """How much was computed until a mark."""

    there = True

    def __init__(self, lane: WatchedLane) -> None:
        self.lane, self.computed = lane, lane.computed

    def synchronize(self) -> None:
        """All is computed at once."""

    def wait(self) -> None:
        self.lane.waited = max(self.lane.waited, self.computed)


class WatchedLane(PacedLane):
    """Refuses a copy to memory that need not have been read before.

    ``computed``
        How many things were computed; each GPU does them later, in this order.
    ``reads``
        The last of them that reads memory, by its address.
    ``waited``
        The last of them that what computes has waited for.
    """

    def __init__(self) -> None:
        super().__init__(RATE, RATE)
        self.computed = self.waited = self.checked = 0
        self.reads: dict[int, int] = {}

    def now(self) -> Clock:
        return Clock(self)

    def read(self, tensor: torch.Tensor) -> None:
        """Something is computed of a tensor."""
        self.computed += 1
        self.reads[tensor.untyped_storage().data_ptr()] = self.computed

    def fetch(self, source, target, after):
        read = self.reads.get(target.untyped_storage().data_ptr(), 0)
        assert after.computed >= read, "a copy does not wait for what reads the memory"
        self.checked += read > 0
        return super().fetch(source, target, after)


class WatchedCodec(HostCodec):
    """Refuses to make elements in memory that need not have been read before."""

    def __init__(self, lane: WatchedLane) -> None:
        self.lane = lane

    def expand(self, part, target):
        read = self.lane.reads.get(target.untyped_storage().data_ptr(), 0)
        assert self.lane.waited >= read, "elements are made before the unit before them has computed"
        super().expand(part, target)
        self.lane.read(part.stream)


@pytest.mark.parametrize("raw", [False, True], ids=["compressed", "raw"])
def test_memory_is_written_only_behind_what_reads_it(raw):
    """What a GPU is told, for here all is computed at once."""
    model, expected = model_and_output()
    lane = WatchedLane()
    for block in model.blocks:
        block.register_forward_hook(lambda module, *_: lane.read(module.wide.weight))
    context = streamed(model, lane, raw=raw, codec=WatchedCodec(lane))
    assert is_right(context, model, expected)
    assert lane.checked > len(model.blocks)
