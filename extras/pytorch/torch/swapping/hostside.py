"""Compression by the host's processor of what has arrived there (vDNN++)."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor

from cdma.torch.coded import lossless_format

from .link import Ordered
from .packing import Packing, pack
from .pool import Block, HostPool

__all__ = ["HostCodec", "HostStream"]

#: Where a card would say that a stream is not whole; the processor raises an error.
_NO_FAULT = torch.zeros(1, dtype=torch.int32)


class _Job:
    """Work of the host's codec."""

    def __init__(self, future: Future[None]) -> None:
        self._future = future

    @property
    def finished(self) -> bool:
        """Whether it has ended."""
        return self._future.done()

    def synchronize(self) -> None:
        """Returns when it has ended; raises what went wrong in it."""
        self._future.result()


class HostStream:
    """A tensor that has arrived, and is being compressed or is compressed.

    ``ready``
        The compression.
    """

    def __init__(self, pool: HostPool, block: Block, dtype: torch.dtype) -> None:
        self._pool, self._dtype = pool, dtype
        self.block: Block | None = block
        self.ready: _Job
        self._stream: tuple[Tensor, Packing] | None = None

    def compress(self, arrived: Ordered) -> None:
        """Replaces the block by the stream, if that is smaller."""
        arrived.synchronize()
        assert self.block is not None
        made = pack(self.block.data.view(self._dtype), lossless_format(self._dtype))
        size = int(made.packing.length)
        if size < self.block.data.numel() and self._pool.charge(size):
            self._stream = made.data[:size].clone(), made.packing
            block, self.block = self.block, None
            self._pool.give_back(block)

    def expand(self, target: Tensor, after: Ordered | None) -> None:
        """Restores the bytes in memory that ``after`` may still read."""
        self.ready.synchronize()
        if after is not None:
            after.synchronize()
        if self._stream is None:
            assert self.block is not None
            target.copy_(self.block.data)
        else:
            stream, packing = self._stream
            target.copy_(packing.unpack(stream, _NO_FAULT).view(torch.uint8))

    def give_back(self) -> None:
        """Returns what the tensor has of the pool."""
        self.ready.synchronize()
        if self._stream is not None:
            self._pool.charge(-self._stream[0].numel())
        elif self.block is not None:
            self._pool.give_back(self.block)


class HostCodec:
    """A thread of the host that compresses and decompresses in the order in which it is asked to."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "cdma-host")

    def compress(self, pool: HostPool, block: Block, dtype: torch.dtype) -> HostStream:
        """Compresses a block when the copy to it has ended."""
        stream = HostStream(pool, block, dtype)
        assert block.last is not None
        stream.ready = _Job(self._thread.submit(stream.compress, block.last))
        return stream

    def expand(self, stream: HostStream, target: Block) -> Ordered:
        """Decompresses to a block; what reads that comes after the result."""
        return _Job(self._thread.submit(stream.expand, target.data, target.last))
