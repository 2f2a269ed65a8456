"""The stream of a codec of the comparison on a GPU, and what its kernels share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cdma.gpu.layout import UNSIGNED, require_card, words_of
from cdma.hdl.spec.format import Format


@dataclass(frozen=True)
class CardStream:
    """A stream on a GPU.

    ``data``: Bytes that begin with the stream, if it fits; else they are anything.
    ``length``: The bytes that the stream has, or would have: one 64-bit number on the GPU.
    ``words``: Words of the packet.
    """

    data: Tensor
    length: Tensor
    words: int

    @property
    def stream(self) -> Tensor:
        """The stream: a view of ``data``. This waits for the GPU."""
        return self.data[: int(self.length)]


def checked(
    restored: Callable[[CardStream, Any, Tensor], Tensor],
    golden: Callable[..., Any],
    stream: CardStream,
    format: Any,
) -> Tensor:
    """The words of a packet as they are ``restored``, or the error that the ``golden`` model has for its stream."""
    fault = torch.zeros(1, dtype=torch.int32, device=stream.data.device)
    made = restored(stream, format, fault)
    if int(fault):
        golden(unsigned(stream.stream, format.word_bits).cpu().numpy(), stream.words, format)
    return made


def words_on_card(tensor: Tensor, word_bits: int) -> Tensor:
    """The words of a tensor, where it is."""
    require_card(tensor.device)
    return words_of(tensor, Format(word_bits=word_bits))


def room_for(nbytes: int, out: Tensor | None, device: torch.device) -> Tensor:
    """Bytes for a stream, a multiple of four of them."""
    if out is None:
        return torch.empty(-(-nbytes // 4) * 4, dtype=torch.uint8, device=device)
    return out[: out.numel() // 4 * 4]


def unsigned(data: Tensor, bits: int) -> Tensor:
    """Bytes as unsigned numbers; what is no whole number at their end is left out."""
    return data[: data.numel() // (bits // 8) * (bits // 8)].view(UNSIGNED[bits // 8])
