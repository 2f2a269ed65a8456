"""What goes wrong within ``cdma.torch.stream``: it is raised once, the context is as before, and weights come back."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from cdma.sim.codec.model import CorruptStream
from cdma.torch.coded import Codec
from cdma.torch.streaming.context import Stream
from cdma.torch.streaming.depot import Depot
from cdma.torch.transport import BACK
from tests.extras.pytorch.clockwork_link import CPU, Delayed
from tests.support.training import Blocks, total

pytestmark = pytest.mark.usefixtures("one_thread")

TOKENS = torch.arange(14).view(2, 7)


def plain(model: nn.Module) -> torch.Tensor:
    with torch.no_grad():
        return model(TOKENS)


def streamed(model, *, raw=False, delay=lambda: 0.0, codec=None) -> Stream:
    depot = Depot(Coming(delay), codec or Codec(CPU), 1, None, raw=raw)
    return Stream(model, depot, total(model) * 7 // 10, 1)


class Coming(Delayed):
    """What leaves for the host is not delayed."""

    def _move(self, way, pairs):
        (super() if way == BACK else super(Delayed, self))._move(way, pairs)


def passes(model: nn.Module, count: int) -> None:
    for _ in range(count):
        model(TOKENS)


def copies(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: each.clone() for name, each in model.state_dict().items()}


def are_back(model: nn.Module, before: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(before[name], each) for name, each in model.state_dict().items())


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("raw", [False, True], ids=["compressed", "raw"])
@pytest.mark.parametrize("where", ["before", "behind"])
def test_a_pass_that_fails_or_is_interrupted_keeps_no_memory(raw, error, where):
    model = Blocks().bfloat16()
    expected, broken = plain(model), True

    def fail(*_):
        if broken:
            raise error

    with streamed(model, raw=raw) as context:
        module = model.blocks[2].wide
        if where == "before":
            # Before the context's own hook: the call is left and was not entered.
            module.register_forward_pre_hook(fail, prepend=True)
        else:
            module.register_forward_hook(fail)
        for _ in range(3):
            with pytest.raises(error):
                model(TOKENS)
        broken = False
        for _ in range(3):
            assert torch.equal(model(TOKENS), expected)
    assert context.report.beyond == 0


@pytest.mark.parametrize("raw", [False, True], ids=["compressed", "raw"])
def test_a_copy_that_fails_is_raised_where_it_is_needed_and_made_anew(raw):
    model = Blocks().bfloat16()
    expected, before, count = plain(model), copies(model), 0

    def fail_once():
        nonlocal count
        count += 1
        if count == 4:
            raise OSError("the link is down")
        return 0.0

    with streamed(model, raw=raw, delay=fail_once):
        with pytest.raises(OSError, match="the link is down"):
            passes(model, 3)
        for _ in range(3):
            assert torch.equal(model(TOKENS), expected)
    assert are_back(model, before)


def test_weights_are_back_when_no_copy_arrives():
    def fail():
        raise OSError("the link is down")

    model = Blocks().bfloat16()
    before = copies(model)
    with pytest.raises(OSError, match="the link is down"), streamed(model, delay=fail):
        model(TOKENS)
    assert are_back(model, before)


def damage(context: Stream, unit: int) -> None:
    """Damages a stream on the host, or mends it."""
    cold = context._cold[unit]
    piece = next(piece for piece in cold.bundle.pieces if piece.format is not None)
    cold.held.block[piece.place : piece.place + 64] ^= 0x55


def test_a_damaged_stream_is_an_error_until_it_is_mended():
    model = Blocks().bfloat16()
    expected, before = plain(model), copies(model)
    with streamed(model) as context:
        damage(context, 2)
        for _ in range(3):
            with pytest.raises(CorruptStream):
                model(TOKENS)
        damage(context, 2)
        for _ in range(2):
            assert torch.equal(model(TOKENS), expected)
    assert are_back(model, before)


def test_weights_of_other_units_are_back_beside_a_damaged_one():
    model = Blocks().bfloat16()
    before = copies(model)
    context = streamed(model)
    context.__enter__()
    damage(context, 0)
    lost = {id(weight) for weight in context._cold[0].unit.weights}
    with pytest.raises(CorruptStream):
        context.__exit__(None, None, None)
    kept = {name: weight for name, weight in model.named_parameters() if id(weight) not in lost}
    assert 0 < len(kept) < len(before)
    assert all(torch.equal(before[name], weight) for name, weight in kept.items())


class LateCodec(Codec):
    """Says later if a stream was not whole, as a GPU does."""

    def __init__(self) -> None:
        super().__init__(CPU)
        self._late = 0

    def unpack(self, packed, target=None):
        try:
            return super().unpack(packed, target)
        except CorruptStream:
            self._late = 1
            return target

    def verdict(self):
        found, self._late = torch.tensor(self._late), 0
        return found


def test_a_late_verdict_is_one_error_for_all_passes_until_then():
    model = Blocks().bfloat16()
    expected, before = plain(model), copies(model)
    with streamed(model, codec=LateCodec()) as context:
        model(TOKENS)
        damage(context, 0)
        with pytest.raises(CorruptStream):
            passes(model, 4)
        damage(context, 0)
        for _ in range(4):
            assert torch.equal(model(TOKENS), expected)
    assert are_back(model, before)


def test_hooks_of_a_module_see_its_weights():
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))

        def forward(self, tokens):
            for layer in self.layers:
                tokens = layer(tokens)
            return tokens

    model, inputs, sums = Model(), torch.randn(2, 64), []
    for layer in model.layers:
        layer.register_forward_pre_hook(lambda module, _: sums.append(module.weight.sum().item()))
    with torch.no_grad():
        model(inputs)
    with streamed(model):
        model(inputs)
    assert sums[:4] == sums[4:]
