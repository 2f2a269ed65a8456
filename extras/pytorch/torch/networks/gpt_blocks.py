"""The blocks of GPT-2, which read tokens as vectors, and give classes of a whole sequence."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_CLASSES = 10
_BLOCKS, _WIDTH, _HEADS, _LENGTH = 12, 768, 12, 1024


class GptBlocks(nn.Module):
    """Blocks, and classes of the mean over a sequence."""

    def __init__(self, blocks: int, width: int, heads: int) -> None:
        super().__init__()
        settings = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        layers = [nn.TransformerEncoderLayer(width, heads, 4 * width, **settings) for _ in range(blocks)]
        self.blocks = nn.ModuleList(layers)
        self.classes = nn.Linear(width, _CLASSES)

    def forward(self, tokens: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], tokens.device)
        for block in self.blocks:
            tokens = block(tokens, mask, is_causal=True)
        return self.classes(tokens.mean(1))


def gpt2() -> nn.Module:
    """The blocks of the model of 124 million parameters."""
    return GptBlocks(_BLOCKS, _WIDTH, _HEADS)


def gpt2_batch(batch: int) -> tuple[Tensor, Tensor]:
    """So many sequences of random tokens, and classes for them."""
    return torch.randn(batch, _LENGTH, _WIDTH), torch.randint(_CLASSES, (batch,))
