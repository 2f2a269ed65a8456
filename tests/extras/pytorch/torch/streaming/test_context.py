"""Inference within ``cdma.torch.stream``: outputs bit for bit, and what comes when."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from cdma.base.errors import ParameterError
from cdma.torch import stream
from tests.support.training import Blocks, total

pytestmark = pytest.mark.usefixtures("one_thread")

TOKENS = torch.arange(14).view(2, 7)


def plain(model: nn.Module, inputs: torch.Tensor = TOKENS) -> torch.Tensor:
    with torch.no_grad():
        return model(inputs)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("raw", [False, True], ids=["compressed", "raw"])
@pytest.mark.parametrize("tied", [False, True], ids=["apart", "tied"])
def test_outputs_are_those_of_the_plain_model_and_weights_are_back_afterwards(dtype, raw, tied):
    model = Blocks(tied=tied).to(dtype)
    expected, before = plain(model), {name: each.clone() for name, each in model.state_dict().items()}
    with stream(model, device_bytes=total(model) * 8 // 10, raw=raw, device="cpu") as streamed:
        for _ in range(4):
            assert torch.equal(model(TOKENS), expected)
    report = streamed.report
    assert report.passes == 4
    assert report.late == report.beyond == 0
    assert 0 < report.cold < report.raw == total(model)
    assert report.device <= total(model) * 8 // 10
    assert report.moved >= 3 * report.held
    ratios = {torch.bfloat16: (1.3, 1.5), torch.float16: (0.9, 1.01), torch.float32: (1.1, 1.3)}
    least, most = (0.9, 1.01) if raw else ratios[dtype]
    assert least < report.ratio < most
    assert all(torch.equal(before[name], each) for name, each in model.state_dict().items())
    assert (model.head.weight is model.embedding.weight) is tied


class Turned(nn.Module):
    """PyTorch has one kernel for these products with ordinary weights, and one with weights of an inference mode."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(64, 64) for _ in range(6))

    def forward(self, inputs):
        for block in self.blocks:
            inputs = block(inputs.transpose(0, 1))
        return inputs


@pytest.mark.parametrize("raw", [False, True], ids=["compressed", "raw"])
def test_outputs_in_inference_mode_are_those_of_the_plain_model_and_weights_can_be_trained_behind_it(raw):
    model, inputs = Turned(), torch.randn(2, 20, 64)
    with torch.inference_mode():
        expected = model(inputs)
        with stream(model, device_bytes=total(model) * 8 // 10, raw=raw, device="cpu") as streamed:
            assert all(torch.equal(model(inputs), expected) for _ in range(3))
    assert streamed.report.cold > 0
    assert not any(weight.is_inference() for weight in model.parameters())
    model(inputs).sum().backward()


def test_weights_with_room_stay():
    model = Blocks()
    expected = plain(model)
    with stream(model, device_bytes=2 * total(model), device="cpu") as streamed:
        assert torch.equal(model(TOKENS), expected)
    assert (streamed.report.cold, streamed.report.fetches) == (0, 0)


def test_too_little_room_for_the_largest_unit_is_one_error_that_says_how_much_is_needed():
    model = Blocks()
    with pytest.raises(
        ParameterError, match=r"device_bytes is 1,000; [\d,]+ are needed, .*blocks\.0"
    ) as error:
        stream(model, device_bytes=1000, device="cpu").__enter__()
    needed = int(str(error.value).split("; ")[1].split()[0].replace(",", ""))
    expected = plain(model)
    with stream(model, device_bytes=needed, device="cpu") as streamed:
        assert torch.equal(model(TOKENS), expected)
    assert streamed.report.device <= needed


def test_units_in_another_order_are_right_and_only_not_foreseen():
    model = Blocks()
    with stream(model, device_bytes=total(model) * 7 // 10, device="cpu") as streamed:
        for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [4, 3, 2, 1, 0], [2, 2, 0, 2, 4], [1]):
            model.order = order
            made = model(TOKENS)
            late = streamed.report.late
            other = Blocks()
            other.order = order
            assert torch.equal(made, plain(other))
    assert late > 0


def test_gradients_and_the_state_are_refused_while_weights_are_away():
    model = Blocks()
    with stream(model, device_bytes=total(model) * 7 // 10, device="cpu"):
        with torch.enable_grad(), pytest.raises(ParameterError, match="a stream of weights is for inference"):
            model(TOKENS)
        with pytest.raises(ParameterError, match="read the state of the model outside of the block"):
            model.state_dict()
        plain(model)
    assert len(model.state_dict()) > 0


class Measuring(Blocks):
    """Asks for the shape, type and device of weights that are away, as CLIP does, and reads one if it is to."""

    reads = False

    def forward(self, tokens):
        weight = self.blocks[3].wide.weight
        assert weight.shape == weight.size() == (weight.shape[0], weight.shape[1])
        assert (weight.dtype, weight.device.type, weight.requires_grad) == (torch.float32, "cpu", True)
        return super().forward(tokens) + (weight.sum() if self.reads else 0)


def test_weights_that_are_away_keep_their_shape_and_say_so_when_they_are_read():
    model = Measuring()
    expected = plain(model)
    with stream(model, device_bytes=total(model) * 7 // 10, device="cpu"):
        assert torch.equal(model(TOKENS), expected)
        weight = model.blocks[3].wide.weight
        for read in (
            lambda: weight + 1,
            lambda: weight.T,
            lambda: weight.data,
            lambda: weight[0],
            weight.tolist,
        ):
            with pytest.raises(ParameterError, match="a weight that is away"):
                read()
        with pytest.raises(ParameterError, match="a weight that is away"):
            nn.functional.linear(torch.zeros(1, weight.shape[1]), weight)
        for part in (model, weight):
            with pytest.raises(ParameterError, match=r"weights are away|a weight that is away"):
                copy.deepcopy(part)
        model.reads = True
        with pytest.raises(ParameterError, match="sum reads a weight that is away"):
            model(TOKENS)
    model.reads = False
    assert torch.equal(plain(model), expected)
    assert all(type(weight) is nn.Parameter for weight in model.parameters())


def test_a_part_whose_weights_are_away_has_no_state():
    model = Blocks()
    with stream(model, device_bytes=total(model) * 7 // 10, device="cpu") as streamed:
        rows = streamed.report.rows
        for number, block in enumerate(model.blocks):
            if rows[f"blocks.{number}"].hot:
                assert len(block.state_dict()) > 0
                continue
            for part in (block, model.blocks, block.wide):
                with pytest.raises(ParameterError, match="read the state of the model outside of the block"):
                    part.state_dict()


def test_a_second_stream_of_a_model_or_a_part_of_it_is_refused():
    model = Blocks()
    for first, second in ((model, model), (model, model.blocks[1]), (model.blocks[1], model)):
        with (
            stream(first, device_bytes=1 << 30, device="cpu"),
            pytest.raises(ParameterError, match="is streamed already"),
            stream(second, device_bytes=1 << 30, device="cpu"),
        ):
            pass
    with stream(model, device_bytes=1 << 30, device="cpu"):
        plain(model)


def test_a_compiled_model_is_streamed():
    """What moves its weights stands between its graphs."""
    torch._dynamo.reset()
    model = Blocks()
    expected, call = plain(model), torch.compile(model, backend="aot_eager")
    with stream(model, device_bytes=total(model) * 7 // 10, device="cpu") as streamed:
        for _ in range(3):
            assert torch.equal(call(TOKENS), expected)
        assert streamed.report.passes == 3
        assert streamed.report.moved > 0
    assert torch.equal(plain(call), expected)
