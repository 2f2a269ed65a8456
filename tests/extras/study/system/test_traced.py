"""Networks traced from PyTorch modules."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from cdma.base.errors import ParameterError
from cdma.study.system.feature_maps import feature_maps
from cdma.study.system.traced import parse_input, trace, trace_named

torch = pytest.importorskip("torch")
nn = torch.nn


def convolutions() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2, groups=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(16 * 3 * 3, 10),
    )


class Attends(nn.Module):
    """One block without a class of its own for attention."""

    def __init__(self) -> None:
        super().__init__()
        self.symbols, self.places = nn.Embedding(9, 8), nn.Embedding(6, 8)
        self.inputs, self.output, self.norm = nn.Linear(8, 24), nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, symbols: Any) -> Any:
        tokens = self.symbols(symbols) + self.places.weight
        queries, keys, values = self.inputs(self.norm(tokens)).chunk(3, dim=2)
        found = (queries @ keys.transpose(1, 2) / 8**0.5).softmax(2) @ values
        return tokens + nn.functional.gelu(self.output(found))


@pytest.mark.slow
def test_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    package = types.ModuleType("traced_example")
    package.convolutions = convolutions  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "traced_example", package)
    network = trace_named("traced_example:convolutions", "3x16x16", 4, "vgg")
    kinds = [layer.kind for layer in network.layers]
    assert kinds == ["conv", "batchnorm", "relu", "pool", "conv", "relu", "dropout", "fc"]
    assert network.parameters == sum(value.numel() for value in convolutions().parameters())
    assert network.macs == 16 * 16 * 8 * 27 + 3 * 3 * 16 * 4 * 9 + 144 * 10
    assert [layer.small_kernel for layer in network.layers if layer.kind == "conv"] == [True, False]
    assert network.layers[3].mode == "max"
    assert {item.sources[0].kind for item in feature_maps(network)} >= {"relu", "pool"}


@pytest.mark.slow
def test_attention() -> None:
    network = trace(Attends(), (6,), True, 4, "attends", "transformer")
    kinds = [layer.kind for layer in network.layers]
    assert kinds == [
        *("embedding", "layernorm", "linear", "scores", "softmax", "context", "linear", "gelu", "add")
    ]
    assert network.parameters == sum(value.numel() for value in Attends().parameters())
    assert network.layers[3].shape == (6, 1, 6)
    assert network.layers[3].macs == network.layers[5].macs == 6 * 6 * 8


class Sums(nn.Module):
    """Computes what no layer does."""

    def forward(self, values: Any) -> Any:
        return values.cumsum(1)


@pytest.mark.slow
def test_an_operation_without_a_kind_is_refused() -> None:
    with pytest.raises(ParameterError, match="computes cumsum"):
        trace(Sums(), (4,), False, 1, "sums", "vgg")


def test_inputs_and_modules_that_are_refused() -> None:
    assert parse_input("3x224x224") == ((3, 224, 224), False)
    assert parse_input("128:int") == ((128,), True)
    for text in ("", "3x", "0x4", "4:float", "3,4"):
        with pytest.raises(ParameterError, match="3x224x224"):
            parse_input(text)
    for name in ("nothing_here:f", "math:nothing", "math"):
        with pytest.raises(ParameterError, match="package:factory"):
            trace_named(name, "3", 1, "vgg")
