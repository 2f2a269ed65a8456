"""What :mod:`cdma.door` asks for: streams of tensors on a GPU, of one level or two, with a base or without one; and the
table of frequent values that suits a tensor, the one that :func:`cdma.sim.codec.fit.fit` finds."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from cdma.base.errors import ParameterError
from cdma.gpu import decoder, encoder, groups
from cdma.hdl.spec.format import Format, StreamFormat
from cdma.hdl.spec.settings import word_count
from cdma.sim.codec.fit import sampled_runs
from cdma.sim.codec.model import Analysis

from .encoder import totals
from .groups import stream_words
from .layout import (
    SIGNED,
    base_of,
    bytes_of,
    current,
    overlap,
    require_codec,
    require_tensor,
    words_of,
    xored,
)


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


def compress(
    tensor: Tensor, format: StreamFormat, *, base: Tensor | None = None, out: Tensor | None = None
) -> Tensor:
    """The stream of a tensor, of words XORed with those of a base, if there is one; ``out`` must have space for any."""
    words = words_of(tensor, format := require_codec(format))
    count = words.numel()
    other = base_of(base, count, format, words.device)
    if out is not None:
        require_tensor("out", out)
        if (size := out.numel() * out.element_size()) < (bound := format.bound_bytes(count)):
            raise ParameterError(f"out has {size} bytes; the stream of {count} words can have {bound}")
        encoder.check_out(out, None, words, format.stream_bits // 8)
        if other is not None and overlap(out, other):
            raise ParameterError("out is a part of the base; it must be another tensor")
    with current(words.device):
        if format.levels == 2:
            return groups.compressed(words, format, other, out)
        return encoder.compress(xored(words, other), format, out=out).stream


def decompress(
    stream: Tensor,
    words: int,
    format: StreamFormat,
    *,
    base: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The ``words`` unsigned words of a stream, XORed with those of a base; ``out``, a tensor for them, may be the base.

    Raises :class:`.CorruptStream` as :func:`cdma.decompress` does; then ``out`` holds anything.
    """
    data, words = bytes_of(stream, format := require_codec(format)), word_count(words)
    other = base_of(base, words, format, data.device)
    if format.levels == 1 and other is None:
        return decoder.decompress(data, words, format, out=out)
    with current(data.device):
        if format.levels == 1:
            made = xored(decoder.decompress(data, words, format), other)
            return made if out is None else _target(out, words, format, data, other).copy_(made)
        # A stream that is too short for its masks is refused before there is memory for its words.
        if words and format.least(words) * format.stream_bits <= 8 * data.numel():
            target = _target(out, words, format, data, other)
            if groups.decompressed(data, format, other, target):
                return target
        made = xored(decoder.by_model(data, data.numel(), words, format), other)
        return made if out is None else _target(out, words, format, data, other).copy_(made)


def _target(out: Tensor | None, words: int, format: Format, data: Tensor, other: Tensor | None) -> Tensor:
    """A tensor for the words; refuses one that is a part of the base."""
    target = decoder.target_for(out, words, format, data)
    if other is not None and overlap(target, other) and target.data_ptr() != other.data_ptr():
        raise ParameterError("out is a part of the base; it must be all of it, or another tensor")
    return target


def analyse(tensor: Tensor, format: StreamFormat, *, base: Tensor | None = None) -> Analysis:
    """Counts what :func:`compress` would store; this waits for the GPU."""
    words = words_of(tensor, format := require_codec(format))
    count = words.numel()
    with current(words.device):
        words = xored(words, base_of(base, count, format, words.device))
        stored, compressed = encoder.totals(words, format).tolist()
        if format.levels == 2:
            compressed = groups.stream_words(words, format)
    return Analysis(format, count, stored, -(-count // format.window), compressed)
