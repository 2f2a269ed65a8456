"""Small models that tests train or stream, a step of training within a context, and whether two have the same gradients."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn


class _Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.wide, self.output = (
            nn.LayerNorm(width),
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )

    def forward(self, tokens: Tensor) -> Tensor:
        return tokens + self.output(torch.relu(self.wide(self.norm(tokens))))


class Blocks(nn.Module):
    """Blocks between an embedding and a head, which are tied if asked for.

    ``order``
        The blocks in the order in which they run.
    """

    def __init__(self, width: int = 64, blocks: int = 5, *, tied: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(100, width)
        self.blocks = nn.ModuleList(_Block(width) for _ in range(blocks))
        self.head = nn.Linear(width, 100, bias=False)
        if tied:
            self.head.weight = self.embedding.weight
        self.register_buffer("scale", torch.full((width,), 2.0))
        self.order = list(range(blocks))

    def forward(self, tokens: Tensor) -> Tensor:
        numbers = self.embedding(tokens) * self.scale
        for place in self.order:
            numbers = self.blocks[place](numbers)
        return self.head(numbers)


def total(model: nn.Module) -> int:
    """Bytes of all weights."""
    return sum(weight.numel() * weight.element_size() for weight in model.parameters())


def images() -> Tensor:
    return torch.randn(8, 1, 16, 16)


def gradients(
    model: nn.Module,
    inputs: Tensor,
    context: AbstractContextManager[object] | None = None,
    inside: bool = False,
) -> list[Tensor]:
    """Gradients of one step, whose backward pass is within the context or after it."""
    model.zero_grad()
    torch.manual_seed(3)
    with context or nullcontext():
        loss = model(inputs).square().mean()
        if inside:
            loss.backward()
    if not inside:
        loss.backward()
    return [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]


def same(first: Sequence[Tensor], second: Sequence[Tensor]) -> bool:
    return len(first) == len(second) and all(map(torch.equal, first, second))
