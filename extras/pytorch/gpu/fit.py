"""The table of frequent values that suits a tensor on a GPU: the one that :func:`cdma.sim.codec.fit.fit` finds."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from cdma.hdl.spec.format import Format, StreamFormat
from cdma.sim.codec.fit import sampled_runs

from .encoder import totals
from .groups import stream_words
from .layout import SIGNED, base_of, current, require_codec, words_of, xored


def fit(tensor: Tensor, format: StreamFormat, *, base: Tensor | None = None, whole: bool = False) -> Format:
    """The format with the table that makes the stream of a tensor shortest; only the table comes to the host."""
    words = words_of(tensor, format := require_codec(format))
    other = base_of(base, words.numel(), format, words.device)
    with current(words.device):
        if not whole:
            words, other = _sampled(words), None if other is None else _sampled(other)
        words = xored(words, other)
        fitted = _with_table(words, format)
        if format.levels == 2:
            single = replace(fitted, levels=1, group=Format.group)
            return min((int(totals(words, single)[1]), 1, single), (stream_words(words, fitted), 2, fitted))[
                2
            ]
    return fitted


def _sampled(words: Tensor) -> Tensor:
    """Those words of a tensor that decide."""
    if (runs := sampled_runs(words.numel())) is None:
        return words
    begins, run = runs
    places = torch.from_numpy(begins).to(words.device)[:, None] + torch.arange(run, device=words.device)
    return words.view(SIGNED[words.element_size()])[places.reshape(-1)].view(words.dtype)


def _with_table(words: Tensor, format: Format) -> Format:
    """The format with the most frequent words, or fields."""
    # Torch counts signed numbers; 64 bits have all words without a sign.
    bits = 8 * words.element_size()
    entries = words.view(SIGNED[words.element_size()]).to(torch.int64) & ((1 << bits) - 1)
    if format.field_bits:
        turned = entries << format.rotate | entries >> (bits - format.rotate)
        fields = (turned & ((1 << bits) - 1)) >> (bits - format.field_bits)
        entries = fields[entries != 0] if format.zero else fields
    if not entries.numel() or not format.table_entries:
        return format
    values, counts = torch.unique(entries, return_counts=True)
    ranked = torch.argsort(counts, descending=True, stable=True)[: format.table_entries]
    return format.with_table(values[ranked].tolist())
