"""The elements of a tensor as a stream of the codec, on the device where they are, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cdma.gpu.extras import kernels_in
from cdma.hdl.spec.format import Format
from cdma.sim.codec.software import compress, decompress

__all__ = ["Packing", "Stream", "pack", "room", "word_count"]


@dataclass(frozen=True)
class Packing:
    """What must be known beside a stream to read it.

    ``length``
        The bytes of the stream: a number of 64 bits where the tensor is.
    ``index``
        Where parts of the stream begin, on a card.
    """

    words: int
    format: Format
    dtype: torch.dtype
    length: Tensor
    index: Tensor | None = None

    @property
    def nbytes(self) -> int:
        """Bytes that stay on the device."""
        return self.length.nbytes + (0 if self.index is None else self.index.nbytes)

    def unpack(self, data: Tensor, fault: Tensor) -> Tensor:
        """The elements, in one dimension. ``data`` begins with the stream.

        ``fault``
            On a card a number of 32 bits there, which becomes 1 if the stream is not whole: nothing waits for the card. On
            the processor that is an error at once.
        """
        if data.device.type == "cpu":
            made: Any = decompress(data[: int(self.length)].numpy(), self.words, self.format)
            return torch.from_numpy(made.view(np.uint8)).view(self.dtype)
        packed = kernels_in("packed").Packed(data, self.length, self.words, self.format, self.index)
        words: Tensor = kernels_in("decoder").restored(packed, fault)
        return words.view(torch.uint8).view(self.dtype)


@dataclass(frozen=True)
class Stream:
    """A stream where the tensor is, in more memory than most streams need.

    ``data``
        Bytes that begin with the stream.
    """

    data: Tensor
    packing: Packing


def pack(flat: Tensor, format: Format) -> Stream:
    """The stream of elements, bit for bit. Nothing waits for a card to know how long it is."""
    words = word_count(flat, format)
    bound = format.bound_bytes(words)
    if flat.device.type == "cpu":
        data = torch.empty(bound, dtype=torch.uint8)
        length = torch.tensor(len(compress(flat, format, out=data.numpy())))
        return Stream(data, Packing(words, format, flat.dtype, length))
    packed = kernels_in("encoder").compress(flat, format, capacity=bound)
    return Stream(data=packed.data, packing=Packing(words, format, flat.dtype, packed.length, packed.index))


def room(flat: Tensor, format: Format) -> int:
    """The most bytes that :func:`pack` takes where the elements are."""
    words, beside = word_count(flat, format), 8
    if flat.device.type != "cpu":
        layout = kernels_in("layout")
        beside += 8 * layout.block_count(words, format) * layout.INDEX_COLUMNS
    return format.bound_bytes(words) + beside


def word_count(flat: Tensor, format: Format) -> int:
    """Words of elements."""
    return flat.numel() * flat.element_size() * 8 // format.word_bits
