"""How the elements of a tensor become a stream where they are, and come back: with the kernels of a GPU, or in software."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from cdma.gpu.extras import kernels_in
from cdma.gpu.packed import Packed
from cdma.hdl.spec.format import Format
from cdma.sim.codec.software import compress, decompress


class Codec:
    """Streams of the tensors of a device. Nothing waits for a GPU: a number there says later if a stream was not whole.

    ``kernels``: Whether it has the kernels, by default those of a GPU.
    """

    def __init__(self, device: torch.device, *, kernels: bool | None = None) -> None:
        self._kernels = device.type != "cpu" if kernels is None else kernels
        self._fault = torch.zeros(1, dtype=torch.int32, device=device)

    def beside(self, words: int, format: Format) -> int:
        """Bytes that stand beside a stream: its length, at a multiple of 16 bytes, and on a GPU its index."""
        if not self._kernels:
            return 16
        layout = kernels_in("layout")
        return 16 + 8 * int(layout.block_count(words, format) * layout.INDEX_COLUMNS)

    def scratch(self, raw: int, format: Format) -> int:
        """Bytes of the device that making so many bytes of elements takes: on a GPU two a window."""
        return 2 * -(-raw * 8 // (format.word_bits * format.window)) if self._kernels else 0

    def pack(self, flat: Tensor, format: Format, out: Tensor) -> Packed:
        """The stream of elements in ``out``, if it fits; its length says so."""
        if self._kernels:
            packed: Packed = kernels_in("encoder").compress(flat, format, out=out)
            return packed
        made = compress(flat, format)
        if len(made) <= out.numel():
            out[: len(made)] = torch.frombuffer(bytearray(made), dtype=torch.uint8)
        index = torch.empty((0, 1), dtype=torch.int64)
        return Packed(out, torch.tensor(len(made)), word_count(flat.nbytes, format), format, index)

    def unpack(self, packed: Packed, target: Tensor | None = None) -> Tensor:
        """The bytes of the elements, in ``target`` if that is given; of what is not whole, an error in software."""
        if self._kernels:
            words: Tensor = kernels_in("decoder").restored(packed, self._fault, out=target)
            return words.view(torch.uint8)
        words = torch.from_numpy(self._made(packed).view(np.uint8))
        return words if target is None else target.copy_(words)

    def check(self, packed: Packed) -> None:
        """Raises :class:`.CorruptStream` if a stream is not whole; waits for the device."""
        if self._kernels:
            kernels_in("decoder").decompress(
                packed.data, packed.words, packed.format, index=packed.index, length=packed.length
            )
        else:
            self._made(packed)

    def verdict(self) -> Tensor | None:
        """A number on its way to the host, which is not 0 if a stream until now was not whole; None where :meth:`unpack`
        says so itself."""
        if not self._kernels:
            return None
        found = torch.empty(1, dtype=torch.int32, pin_memory=self._fault.is_cuda)
        found.copy_(self._fault, non_blocking=True)
        self._fault.zero_()
        return found

    @staticmethod
    def _made(packed: Packed) -> np.ndarray:
        return decompress(packed.data[: int(packed.length)].numpy(), packed.words, packed.format)


def word_count(nbytes: int, format: Format) -> int:
    """Words of so many bytes of elements."""
    return nbytes * 8 // format.word_bits
