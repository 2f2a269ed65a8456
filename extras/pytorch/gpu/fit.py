"""The table of frequent values that suits a tensor on a GPU: the one that :func:`cdma.sim.codec.fit.fit` finds."""

from __future__ import annotations

import torch
from torch import Tensor

from cdma.hdl.spec.format import Format
from cdma.sim.codec.fit import sampled_runs

from .layout import current, require_format, words_of


def fit(tensor: Tensor, format: Format, *, whole: bool = False) -> Format:
    """The format with the table that makes the stream of a tensor shortest; only the table comes to the host."""
    words = words_of(tensor, require_format(format))
    with current(words.device):
        if not whole and (runs := sampled_runs(words.numel())) is not None:
            begins, run = runs
            places = torch.from_numpy(begins).to(words.device)[:, None] + torch.arange(
                run, device=words.device
            )
            words = words.view(_SIGNED[words.element_size()])[places.reshape(-1)]
        # Torch counts signed numbers; 64 bits have all words without a sign.
        bits = 8 * words.element_size()
        entries = words.view(_SIGNED[words.element_size()]).to(torch.int64) & ((1 << bits) - 1)
        if format.field_bits:
            turned = entries << format.rotate | entries >> (bits - format.rotate)
            fields = (turned & ((1 << bits) - 1)) >> (bits - format.field_bits)
            entries = fields[entries != 0] if format.zero else fields
        if not entries.numel() or not format.table_entries:
            return format
        values, counts = torch.unique(entries, return_counts=True)
        ranked = torch.argsort(counts, descending=True, stable=True)[: format.table_entries]
        return format.with_table(values[ranked].tolist())


_SIGNED = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
