"""Compressing and decompressing as operators of PyTorch, which ``torch.compile`` and ``torch.export`` trace and a CUDA graph
captures. Importing this module registers them::

    text = cdma.gpu.operators.text_of(format)
    data, length, index = torch.ops.cdma.compress(tensor, text, capacity)
    words, verdict = torch.ops.cdma.decompress(data, length, index, count, text)

They are :func:`cdma.gpu.compress` with a ``capacity`` and :func:`cdma.gpu.decompress` without waiting; they have no
gradients.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache

import torch
from torch import Tensor

from cdma.hdl.spec.format import Format

from . import decoder, encoder
from .layout import INDEX_COLUMNS, UNSIGNED, Packed, block_count, require_format


def text_of(format: Format) -> str:
    """A format as the text that the operators take."""
    return json.dumps(asdict(require_format(format)))


@cache
def _format(text: str) -> Format:
    settings = json.loads(text)
    return Format(**{**settings, "values": tuple(settings["values"])})


@torch.library.custom_op("cdma::compress", mutates_args=())
def compress(tensor: Tensor, format: str, capacity: int) -> tuple[Tensor, Tensor, Tensor]:
    """Bytes that begin with the stream, if it has at most ``capacity``; how many it has, and its index."""
    packed = encoder.compress(tensor, _format(format), capacity=capacity)
    return packed.data, packed.length.clone(), packed.index.clone()


@compress.register_fake
def _(tensor: Tensor, format: str, capacity: int) -> tuple[Tensor, Tensor, Tensor]:
    known = _format(format)
    blocks = block_count(tensor.numel() * tensor.element_size() * 8 // known.word_bits, known)
    return (
        tensor.new_empty(capacity, dtype=torch.uint8),
        tensor.new_empty((), dtype=torch.int64),
        tensor.new_empty((blocks, INDEX_COLUMNS), dtype=torch.int64),
    )


@torch.library.custom_op("cdma::decompress", mutates_args=())
def decompress(data: Tensor, length: Tensor, index: Tensor, words: int, format: str) -> tuple[Tensor, Tensor]:
    """The unsigned words of a stream, and 0 if stream and index are right."""
    return decoder.started(Packed(data, length, words, _format(format), index))


@decompress.register_fake
def _(data: Tensor, length: Tensor, index: Tensor, words: int, format: str) -> tuple[Tensor, Tensor]:
    word = UNSIGNED[_format(format).word_bits // 8]
    return data.new_empty(words, dtype=word), data.new_empty(1, dtype=torch.int32)
