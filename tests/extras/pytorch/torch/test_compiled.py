"""Models that ``torch.compile`` has compiled: what autograd keeps is compressed and moved, and no gradient differs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.backends.debugging import aot_eager

from cdma.torch import Cdma, Comet, Recompute, Vdnn, offload, saved

pytestmark = pytest.mark.usefixtures("one_thread")


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh())
        self.head = nn.Linear(64, 4)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.head(self.body(inputs))


class Compiled:
    """A network, compiled in one of the ways that there are, and how many graphs that took."""

    def __init__(self, how: str) -> None:
        torch._dynamo.reset()
        torch.manual_seed(0)
        self.graphs = 0
        self.model = self.network = Network()
        self.call: Callable[[Tensor], Tensor] = self.network
        options: dict[str, Any] = {"backend": self._counted, "fullgraph": True}
        if how == "in place":
            self.network.compile(**options)
        elif how == "part":
            self.network.body = torch.compile(self.network.body, **options)
        elif how == "step":
            self.call = torch.compile(lambda inputs: self.network(inputs).square(), **options)
        elif how != "plain":
            self.call = torch.compile(self.network, **options)
            self.model = self.call if how == "outside" else self.network

    def _counted(self, graph: Any, inputs: Any) -> Any:
        self.graphs += 1
        return aot_eager(graph, inputs)

    def gradients(self, inputs: Tensor, context: Callable[[nn.Module], Any] | None = None) -> list[Tensor]:
        found = None if context is None else context(self.model)
        for _ in range(3):
            self.network.zero_grad()
            if found is None:
                loss = self.call(inputs).square().mean()
            else:
                with found:
                    loss = self.call(inputs).square().mean()
            loss.backward()
        if found is not None:
            assert found.report.passes == 3
            assert found.report.tensors >= 3
        return [weight.grad for weight in self.network.parameters()]


@pytest.mark.parametrize("how", ["outside", "inside", "in place", "part", "step"])
@pytest.mark.parametrize(
    "context", [saved, lambda model: offload(model, Vdnn()), lambda model: offload(model, Cdma())]
)
def test_gradients_are_those_without_it_and_one_graph_is_compiled(context, how):
    inputs = torch.randn(300, 64)
    expected = Compiled(how).gradients(inputs)
    compiled = Compiled(how)
    assert all(map(torch.equal, expected, compiled.gradients(inputs, context)))
    assert compiled.graphs == 1


@pytest.mark.parametrize("how", ["outside", "inside", "in place"])
@pytest.mark.parametrize(
    "context",
    [
        lambda model: saved(model, Comet()),
        lambda model: offload(model, Vdnn("conv")),
        lambda model: offload(model, Recompute()),
    ],
)
def test_a_policy_that_goes_by_modules_says_once_that_it_sees_none(context, how):
    inputs = torch.randn(300, 64)
    expected = Compiled(how).gradients(inputs)
    with pytest.warns(UserWarning, match="a compiled model shows none") as said:
        found = Compiled(how).gradients(inputs, context)
    assert all(map(torch.equal, expected, found))
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Compiled("plain").gradients(inputs, context)


class Broken(Network):
    """What no compiler takes stands between two graphs, and is computed as ever: how many numbers it has is not known."""

    def forward(self, inputs: Tensor) -> Tensor:
        middle = self.body(inputs)
        return self.head(middle) * middle[middle > 0].exp().sum()


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("context", [saved, lambda model: offload(model, Cdma())])
def test_between_two_graphs_no_hook_is_compiled(context):
    """The compiler would be there: a hook that it took for a part of the step would be a graph, or many, of its own."""
    plain, found = (_steps_between(within) for within in (None, context))
    assert plain[0] == found[0] >= 2
    assert all(map(torch.equal, plain[1], found[1]))


def _steps_between(within):
    """How many graphs steps take, and the last gradients."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    graphs, model, inputs = [], Broken(), torch.randn(300, 64)
    call = torch.compile(model, backend=lambda *graph: graphs.append(graph) or aot_eager(*graph))
    for _ in range(3):
        model.zero_grad()
        with nullcontext() if within is None else within(model):
            loss = call(inputs).square().mean()
        loss.backward()
    return len(graphs), [weight.grad for weight in model.parameters()]
