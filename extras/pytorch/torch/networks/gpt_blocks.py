"""The blocks of GPT-2, which read tokens as vectors, and give classes of a whole sequence."""

from __future__ import annotations

import torch
from torch import Tensor, nn

GPT2_CLASSES = 10
_BLOCKS, _WIDTH, _HEADS, _LENGTH = 12, 768, 12, 1024


class _Block(nn.Module):
    """A block of a decoder as GPT-2 has it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.back, self.gelu = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.GELU()

    def forward(self, tokens: Tensor) -> Tensor:
        batch, length, width = tokens.shape
        parts = self.queries(self.before(tokens)).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        tokens = tokens + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return tokens + self.back(self.gelu(self.wide(self.between(tokens))))


class GptBlocks(nn.Module):
    """Blocks, and classes of the mean over a sequence."""

    def __init__(self, blocks: int, width: int, heads: int) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*[_Block(width, heads) for _ in range(blocks)])
        self.classes = nn.Linear(width, GPT2_CLASSES)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.classes(self.blocks(tokens).mean(1))


def gpt2() -> nn.Module:
    """The blocks of the model of 124 million parameters."""
    return GptBlocks(_BLOCKS, _WIDTH, _HEADS)


def gpt2_batch(batch: int) -> tuple[Tensor, Tensor]:
    """So many sequences of random tokens, and classes for them."""
    return torch.randn(batch, _LENGTH, _WIDTH), torch.randint(GPT2_CLASSES, (batch,))
