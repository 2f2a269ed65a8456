"""The codec on the GPU, for tensors that are there: streams, their indexes and checksums (needs the ``gpu`` extra).

:func:`cdma.compress` and :func:`cdma.decompress` take tensors on a GPU, too. Here are what only a GPU has: a stream that
nothing waits for, its index, with which it is decompressed faster, and the CRC-32C of the raw data::

    packed = cdma.gpu.compress(tensor, format, capacity=tensor.nbytes)
    words = cdma.gpu.decompress(packed)

Of small tensors, for which launches are what takes time, all go in one::

    packed = cdma.gpu.compress_many(tensors, format)
    words = cdma.gpu.decompress_many(packed)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from cdma.gpu.door import MissingTriton, kernels_in
from cdma.hdl.spec.format import Format
from cdma.sim.codec.model import ZVC

if TYPE_CHECKING:
    from torch import Tensor

    from cdma.gpu.layout import Packed

__all__ = ["MissingTriton", "compress", "compress_many", "decompress", "decompress_many"]


def compress(
    tensor: Tensor,
    format: Format = ZVC,
    *,
    out: Tensor | None = None,
    capacity: int | None = None,
    crc: bool = False,
) -> Packed:
    """The stream of a tensor on a GPU, with its index; in Triton's interpreter the tensor may be on the CPU.

    ``out``, ``capacity``: A tensor of bytes for the stream, or the bytes that there shall be for it. With either
        nothing waits for the GPU, and ``length`` says there what the stream takes; it is written only if it fits.
        Without them the length comes to the host, and the stream has its exact size.
    ``crc``: Whether to compute the CRC-32C of the raw data, too.
    """
    packed: Packed = kernels_in("encoder").compress(tensor, format, out=out, capacity=capacity, crc=crc)
    return packed


@overload
def decompress(
    packed: Packed, *, out: Tensor | None = None, index: bool = True, wait: Literal[True] = True
) -> Tensor: ...


@overload
def decompress(
    packed: Packed, *, out: Tensor | None = None, index: bool = True, wait: Literal[False]
) -> tuple[Tensor, Tensor]: ...


def decompress(packed: Packed, *, out: Tensor | None = None, index: bool = True, wait: bool = True) -> Any:
    """The unsigned words of a packed tensor, where it is; ``.view(dtype).reshape(shape)`` undoes the rest.

    Raises :class:`cdma.CorruptStream` as :func:`cdma.decompress` does, and an error if the words lack the CRC-32C that the
    packed tensor has.

    ``out``: A tensor for the words. After an error it holds anything.
    ``index``: Whether to use the index; without it, or if it is not that of the stream, one is found in the stream.
    ``wait``: Whether to wait for the verdict of the GPU. Otherwise words and verdict are returned: one 32-bit number on
        the GPU, which is 0 if stream, index and CRC-32C are right, and else 1, with which the words are anything.
    """
    kernels_in("layout").require_packed(packed)
    decoder = kernels_in("decoder")
    if not wait:
        return decoder.started(packed, index=index, out=out)
    return decoder.decompress(
        packed.data,
        packed.words,
        packed.format,
        index=packed.index if index else None,
        length=packed.length,
        crc=packed.crc,
        out=out,
    )


def compress_many(
    tensors: Sequence[Tensor], format: Format = ZVC, *, capacities: Sequence[int] | None = None
) -> list[Packed]:
    """The stream of each tensor, all of one GPU, as :func:`compress` makes it, in one launch of each kernel.

    ``capacities``: The bytes that there shall be for each stream: then nothing waits for the GPU. Without them the
        lengths of all come to the host at once.
    """
    packed: list[Packed] = kernels_in("many").compress_many(tensors, format, capacities=capacities)
    return packed


def decompress_many(packed: Sequence[Packed]) -> list[Tensor]:
    """The unsigned words of each packed tensor, all of one GPU and one format, in one launch; waits once for all verdicts.

    Raises :class:`cdma.CorruptStream` for the first that is not whole, as :func:`decompress` does.
    """
    words: list[Tensor] = kernels_in("many").decompress_many(packed)
    return words
