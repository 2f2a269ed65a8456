"""How the elements of a weight become a stream, once, and come back each time: on the processor, or on a GPU."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from cdma.door import analyse, fit
from cdma.gpu.extras import kernels_in
from cdma.hdl.spec.format import Format
from cdma.sim.codec.software import compress, decompress
from cdma.torch.coded import lossless_format
from cdma.torch.paying import pays

#: Weights of fewer bytes go as they are: their kernel would take longer than their copy.
_LEAST_BYTES = 1 << 14
#: Formats that are fitted to weights of a type, beside the one of zeros.
_BF16 = Format.preset("bf16")
_FP32 = replace(_BF16, word_bits=32, window=32)
_FIELDS = {
    torch.bfloat16: (_BF16, replace(_BF16, zero=False)),
    torch.float32: (_FP32, replace(_FP32, zero=False)),
}


@dataclass(frozen=True)
class Chosen:
    """How a weight is held: in a format, or as it is; the bytes of that, and of what stands beside a stream."""

    format: Format | None
    nbytes: int
    beside: int = 0

    @property
    def held(self) -> int:
        """All bytes."""
        return self.nbytes + self.beside


@dataclass(frozen=True)
class Part:
    """A stream in memory, with what stands beside it."""

    words: int
    format: Format
    stream: Tensor
    beside: Tensor


class Codec(Protocol):
    """A way to streams and back."""

    def beside(self, words: int, format: Format) -> int:
        """Bytes that stand beside a stream, such as its index."""
        ...

    def scratch(self, raw: int, format: Format) -> int:
        """Bytes of the device that expanding so many bytes of elements takes."""
        ...

    def pack(self, flat: Tensor, part: Part) -> None:
        """Makes the stream of elements in memory of the host."""
        ...

    def expand(self, part: Part, target: Tensor) -> None:
        """The elements to bytes of the device."""
        ...

    def check(self, part: Part) -> None:
        """Raises :class:`.CorruptStream` if a stream is not whole; waits for the device."""
        ...

    def verdict(self) -> Tensor | None:
        """A number on its way to the host, which is not 0 if a stream until now was not whole; None if :meth:`expand` says
        so itself."""
        ...


def chosen(codec: Codec, flat: Tensor, format: Format | None) -> Chosen:
    """The format of fewest bytes for elements, or ``format``; none if it does not pay."""
    raw = flat.numel() * flat.element_size()
    best = Chosen(None, raw)
    if raw < _LEAST_BYTES:
        return best
    tried = [format] if format is not None else [lossless_format(flat.dtype)]
    if format is None:
        tried += [fit(flat, field) for field in _FIELDS.get(flat.dtype, ())]
    for each in tried:
        if raw * 8 % each.word_bits or flat.element_size() * 8 % each.word_bits:
            continue
        words = raw * 8 // each.word_bits
        found = Chosen(each, analyse(flat, each).compressed_bytes, codec.beside(words, each))
        if found.held < best.held and pays(found.held, raw):
            best = found
    return best


class HostCodec:
    """The codec in software. It says at once if a stream is not whole."""

    def beside(self, words: int, format: Format) -> int:
        """Nothing stands beside a stream."""
        return 0

    def scratch(self, raw: int, format: Format) -> int:
        """Words are made where they are wanted."""
        return 0

    def pack(self, flat: Tensor, part: Part) -> None:
        """Makes the stream of elements."""
        part.stream.copy_(torch.frombuffer(bytearray(compress(flat, part.format)), dtype=torch.uint8))

    def expand(self, part: Part, target: Tensor) -> None:
        """Makes the elements."""
        words = decompress(part.stream.numpy(), part.words, part.format)
        target.copy_(torch.from_numpy(words.view(np.uint8)))

    def check(self, part: Part) -> None:
        """Raises :class:`.CorruptStream` if a stream is not whole."""
        decompress(part.stream.numpy(), part.words, part.format)

    def verdict(self) -> None:
        """Each stream has its own."""
        return None


class CardCodec:
    """The kernels of a GPU. Nothing waits for the GPU: one number there says later if a stream was not whole.

    Beside a stream are its length, at a multiple of 16 bytes, and its index.
    """

    def __init__(self, device: torch.device) -> None:
        self._layout, self._compress = kernels_in("layout"), kernels_in("encoder")
        self._decompress, self._packed = kernels_in("decoder"), kernels_in("packed")
        self._fault = torch.zeros(1, dtype=torch.int32, device=device)

    def beside(self, words: int, format: Format) -> int:
        """Bytes of length and index."""
        rows: int = self._layout.block_count(words, format)
        return 16 + 8 * rows * int(self._layout.INDEX_COLUMNS)

    def scratch(self, raw: int, format: Format) -> int:
        """Two bytes a window."""
        return 2 * -(-raw * 8 // (format.word_bits * format.window))

    def pack(self, flat: Tensor, part: Part) -> None:
        """Makes the stream where it stands, whose length is known: this waits for nothing."""
        packed = self._compress.compress(flat, part.format, out=part.stream)
        index, length = self._beside(part)
        index.copy_(packed.index)
        length.copy_(packed.length)

    def expand(self, part: Part, target: Tensor) -> None:
        """Has the GPU make the elements."""
        index, length = self._beside(part)
        packed = self._packed.Packed(part.stream, length, part.words, part.format, index)
        self._decompress.restored(packed, self._fault, out=target)

    def check(self, part: Part) -> None:
        """Raises :class:`.CorruptStream` if a stream is not whole."""
        index, length = self._beside(part)
        self._decompress.decompress(part.stream, part.words, part.format, index=index, length=length)

    def verdict(self) -> Tensor:
        """The number that all streams share, and then one without a fault."""
        found = torch.empty(1, dtype=torch.int32, pin_memory=self._fault.is_cuda)
        found.copy_(self._fault, non_blocking=True)
        self._fault.zero_()
        return found

    def _beside(self, part: Part) -> tuple[Tensor, Tensor]:
        """The index and the length."""
        index = part.beside[16:].view(torch.int64).view(-1, self._layout.INDEX_COLUMNS)
        return index, part.beside[:8].view(torch.int64)[0]
