"""The blocks of GPT-2, which read tokens as vectors, and give classes of a whole sequence; and a stack of layers of Llama's
shape, with weights of a normal law, which streams of weights are measured with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

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


#: The deviation of the weights.
_DEVIATION = 0.02


@dataclass(frozen=True)
class Shape:
    """``layers`` of ``width`` numbers a token, with heads of 128 and ``hidden`` numbers between the maps; Llama-7B's are
    4096 and 11008."""

    layers: int = 8
    width: int = 4096
    hidden: int = 11008


class KeysAndValues(Protocol):
    """What keeps keys and values of tokens, as Hugging Face's caches do."""

    def update(self, keys: Tensor, values: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """Those of all tokens of a layer, with new ones at their end."""
        ...


class _Layer(nn.Module):
    """Attention to the tokens before and a gated layer, each behind a normalisation and with a connection around it."""

    def __init__(self, shape: Shape, number: int) -> None:
        super().__init__()
        self.number, width = number, shape.width
        self.heads = max(1, width // 128)
        self.norms = nn.ModuleList(nn.RMSNorm(width, eps=1e-5) for _ in range(2))
        self.queries, self.keys, self.values, self.output = (
            nn.Linear(width, width, bias=False) for _ in range(4)
        )
        self.gate, self.up = (nn.Linear(width, shape.hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(shape.hidden, width, bias=False)

    def forward(self, tokens: Tensor, cache: KeysAndValues | None = None) -> Tensor:
        normed = self.norms[0](tokens)
        queries, keys, values = (
            each(normed).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for each in (self.queries, self.keys, self.values)
        )
        if cache is not None:
            keys, values = cache.update(keys, values, self.number)
        # One token sees all that there are.
        several = tokens.shape[1] > 1
        seen = functional.scaled_dot_product_attention(queries, keys, values, is_causal=several)
        tokens = tokens + self.output(seen.transpose(1, 2).flatten(2))
        normed = self.norms[1](tokens)
        return tokens + self.down(functional.silu(self.gate(normed)) * self.up(normed))


class Stack(nn.Module):
    """The layers one after the other. With a cache tokens come behind those that are in it: one, or several if there are
    none."""

    def __init__(self, shape: Shape, device: str, seed: int, dtype: torch.dtype = torch.bfloat16) -> None:
        super().__init__()
        # Without the initial values of PyTorch, which would take as long as all the rest.
        with torch.device("meta"):
            self.layers = nn.ModuleList(_Layer(shape, number) for number in range(shape.layers))
        self.to(dtype).to_empty(device=device).eval().requires_grad_(False)
        source = torch.Generator(device).manual_seed(seed)
        for weight in self.parameters():
            if weight.dim() > 1:
                weight.normal_(0, _DEVIATION, generator=source)
            else:
                weight.fill_(1)

    def forward(self, tokens: Tensor, cache: KeysAndValues | None = None) -> Tensor:
        for layer in self.layers:
            tokens = layer(tokens, cache)
        return tokens
