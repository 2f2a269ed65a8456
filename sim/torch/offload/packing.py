"""The elements of a tensor as a stream of the codec, on the device where they are, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cdma.hdl.spec.format import Format
from cdma.sim.codec.software import compress, decompress
from cdma.sim.gpu.extras import kernels_in

from ..coded import lossless_format

__all__ = ["Packing", "pack"]


@dataclass(frozen=True)
class Packing:
    """What must be known beside a stream to read it.

    ``index``
        Where parts of the stream begin, on a card.
    """

    words: int
    format: Format
    dtype: torch.dtype
    index: Any = None

    def unpack(self, stream: Tensor) -> Tensor:
        """The elements, in one dimension."""
        if stream.device.type == "cpu":
            words = decompress(stream.numpy(), self.words, self.format)
            return torch.from_numpy(words.view(np.uint8)).view(self.dtype)
        words = kernels_in("decompress").decompress(stream, self.words, self.format, index=self.index)
        return words.view(torch.uint8).view(self.dtype)


def pack(flat: Tensor) -> tuple[Tensor, Packing]:
    """The stream of elements, bit for bit, and how it is read."""
    format = lossless_format(flat.dtype)
    words = flat.numel() * flat.element_size() * 8 // format.word_bits
    if flat.device.type == "cpu":
        stream = torch.frombuffer(bytearray(compress(flat, format)), dtype=torch.uint8)
        return stream, Packing(words, format, flat.dtype)
    packed = kernels_in("compress").compress(flat, format)
    return packed.data, Packing(words, format, flat.dtype, packed.index)
