"""The small transformer of :mod:`cdma.study.training.transformer` (needs the ``torch`` extra)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

#: What the blocks in the middle have computed, by name.
Seen = dict[str, Tensor]


class _Attention(nn.Module):
    """Attention of several heads to the token itself and those before it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(width, 3 * width, bias=False)
        self.output = nn.Linear(width, width, bias=False)

    def forward(self, tokens: Tensor, seen: Seen | None) -> Tensor:
        images, places, width = tokens.shape
        split = self.inputs(tokens).view(images, places, 3, self.heads, width // self.heads)
        queries, keys, values = split.permute(2, 0, 3, 1, 4)
        scores = queries @ keys.transpose(2, 3) / (width // self.heads) ** 0.5
        future = torch.ones(places, places, dtype=torch.bool).triu(1)
        softmax = scores.masked_fill(future, float("-inf")).softmax(3)
        if seen is not None:
            seen |= {"keys": keys, "values": values, "softmax": softmax}
        return self.output((softmax @ values).transpose(1, 2).reshape(tokens.shape))


class _Layer(nn.Module):
    """Two linear maps and between them GELU, or SiLU times a gate."""

    def __init__(self, width: int, *, gated: bool) -> None:
        super().__init__()
        self.gated = gated
        self.widen = nn.Linear(width, 4 * width, bias=False)
        self.gate = nn.Linear(width, 4 * width, bias=False) if gated else None
        self.output = nn.Linear(4 * width, width, bias=False)

    def forward(self, tokens: Tensor, seen: Seen | None) -> Tensor:
        wide = self.widen(tokens)
        active = functional.gelu(wide) if self.gate is None else functional.silu(self.gate(tokens))
        if seen is not None:
            active.retain_grad()
            seen["gelu" if self.gate is None else "silu"] = active
        return self.output(active if self.gate is None else active * wide)


class _Block(nn.Module):
    """Attention and a layer, each behind a normalisation and with a connection around it."""

    def __init__(self, width: int, heads: int, *, gated: bool) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.attention = _Attention(width, heads)
        self.layer = _Layer(width, gated=gated)

    def forward(self, tokens: Tensor, seen: Seen | None) -> Tensor:
        tokens = tokens + self.attention(self.norms[0](tokens), seen)
        if seen is not None:
            tokens.retain_grad()
            seen["residual"] = tokens
        return tokens + self.layer(self.norms[1](tokens), seen)


class Transformer(nn.Module):
    """Predicts every symbol of sequences of a fixed length from those before it."""

    def __init__(self, symbols: int, length: int, width: int, heads: int, blocks: int) -> None:
        super().__init__()
        self.symbols = nn.Embedding(symbols + 1, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(_Block(width, heads, gated=block % 2 == 1) for block in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, symbols, bias=False)
        self._seen: Seen | None = None
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)

    def watch(self) -> Seen:
        """Returns a table that the next passes fill with what the two blocks in the middle compute."""
        self._seen = {}
        return self._seen

    def forward(self, sequences: Tensor) -> Tensor:
        # The first symbol is predicted from a symbol of its own, which stands for the beginning.
        before = torch.cat(
            [torch.full_like(sequences[:, :1], self.symbols.num_embeddings - 1), sequences[:, :-1]], 1
        )
        tokens = self.symbols(before) + self.places.weight
        for number, block in enumerate(self.blocks):
            tokens = block(tokens, self._seen if number in (1, 2) else None)
        return self.output(self.norm(tokens))
