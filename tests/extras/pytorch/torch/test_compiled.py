"""Models that ``torch.compile`` has compiled: what autograd keeps is compressed and moved, and no gradient differs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from cdma.torch import Vdnn, offload, saved  # noqa: E402

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.thorough]

Context = Callable[[nn.Module], AbstractContextManager[Any]]


def gradients(context: Context | None) -> list[torch.Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    inputs, compiled = torch.randn(300, 64), torch.compile(model, backend="aot_eager")
    if context is None:
        compiled(inputs).square().mean().backward()
    else:
        with context(model) as kept:
            compiled(inputs).square().mean().backward()
        assert "outside the model" in str(kept.report)
    return [weight.grad for weight in model.parameters()]


@pytest.mark.parametrize(
    "context",
    [saved, lambda model: offload(model, Vdnn("all"), link=1e9)],
    ids=["saved", "offload"],
)
def test_gradients_are_those_without_it(context):
    assert all(map(torch.equal, gradients(None), gradients(context)))
