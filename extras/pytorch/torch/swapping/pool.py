"""The elements of a tensor as a stream of the codec, on the device where they are, and back. Memory of the host for what
is away: taken in large pieces, for pinning takes long, within a limit, and used again. Compression by the host's
processor of what has arrived there (vDNN++).
"""

from __future__ import annotations

import threading
from bisect import insort
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cdma.gpu.extras import kernels_in
from cdma.hdl.spec.format import Format
from cdma.sim.codec.software import compress, decompress
from cdma.torch.coded import lossless_format

from .link import Link, Ordered


@dataclass(frozen=True)
class Packing:
    """What must be known beside a stream to read it.

    ``length``: The bytes of the stream: a number of 64 bits where the tensor is.
    ``index``: Where parts of the stream begin, on a GPU.
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

        ``fault``: On a GPU a number of 32 bits there, which becomes 1 if the stream is not whole: nothing waits for the
            GPU. On the processor that is an error at once.
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

    ``data``: Bytes that begin with the stream.
    """

    data: Tensor
    packing: Packing


def pack(flat: Tensor, format: Format) -> Stream:
    """The stream of elements, bit for bit. Nothing waits for a GPU to know how long it is."""
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


_PAGE = 4096
#: Pieces of memory: powers of two, each about as large as all before it, at least and at most.
_LEAST_PIECE, _LARGEST_PIECE = 1 << 20, 1 << 32
#: Bytes of a block behind the data.
_NUMBER = 8
#: What memory is filled with that nobody may read, where a context looks for errors.
POISON = 0xA5


class _NoMemory(RuntimeError):
    """The host has no more memory that a link can reach."""


class Block:
    """Bytes of the host for one tensor.

    ``data``: As many bytes as were asked for.
    ``number``: Space for a number of 64 bits beside them.
    ``last``: The last copy that reads or writes them.
    """

    def __init__(self, piece: int, begin: int, memory: Tensor, size: int) -> None:
        self.piece, self.begin, self.memory = piece, begin, memory
        self.data = memory[:size]
        self.number = memory[-_NUMBER:].view(torch.int64)
        self.last: Ordered | None = None


class HostPool:
    """Blocks of the host's memory.

    ``limit``: The most bytes of all pieces together; None for no limit.
    ``poison``: Whether what is given back is overwritten.
    """

    def __init__(self, link: Link, limit: int | None, poison: bool = False) -> None:
        self._link, self._limit, self._poison = link, limit, poison
        self._lock = threading.Lock()
        self._pieces: list[Tensor] = []
        # What is free: the piece, and the bytes there, from and to.
        self._free: list[tuple[int, int, int]] = []
        # What was given back, but may still be read.
        self._ending: deque[Block] = deque()
        self.taken = self.peak = 0

    def take(self, size: int) -> Block | None:
        """A block, or None if the limit, or the host, has no room for it."""
        try:
            return self._take(size, self._limit)
        except _NoMemory:
            return None

    def take_beyond(self, size: int) -> Block:
        """A block, whatever the limit is."""
        block = self._take(size, None)
        assert block is not None
        return block

    def give_back(self, block: Block) -> None:
        """Takes a block back, which copies on their way may still read."""
        if self._poison:
            if block.last is not None:
                block.last.synchronize()
            block.memory.fill_(POISON)
        with self._lock:
            self.taken -= block.memory.numel()
            self._ending.append(block)

    def charge(self, size: int) -> bool:
        """Counts bytes of the host beside the blocks, or fewer; returns whether the limit has room for them."""
        with self._lock:
            if size > 0 and self._limit is not None and self.taken + size > self._limit:
                return False
            self._count(size)
            return True

    def _take(self, size: int, limit: int | None) -> Block | None:
        room = -(-(size + _NUMBER) // _PAGE) * _PAGE
        while True:
            with self._lock:
                while self._ending and (self._ending[0].last is None or self._ending[0].last.finished):
                    self._release(self._ending.popleft())
                if limit is not None and self.taken + room > limit:
                    return None
                place = self._place(room)
                if place is None and not self._ending:
                    place = self._new(room, limit)
                    if place is None:
                        return None
                if place is not None:
                    self._count(room)
                    piece, begin = place
                    return Block(piece, begin, self._pieces[piece][begin : begin + room], size)
                oldest = self._ending.popleft()
            # Rather than more memory, that which will soon be free. What it waits for may need the lock.
            assert oldest.last is not None
            oldest.last.synchronize()
            with self._lock:
                self._release(oldest)

    def _count(self, size: int) -> None:
        self.taken += size
        self.peak = max(self.peak, self.taken)

    def _place(self, room: int) -> tuple[int, int] | None:
        """Takes bytes of the smallest place that has room."""
        fitting = [place for place in self._free if place[2] - place[1] >= room]
        if not fitting:
            return None
        place = min(fitting, key=lambda each: each[2] - each[1])
        self._free.remove(place)
        piece, begin, end = place
        if end - begin > room:
            insort(self._free, (piece, begin + room, end))
        return piece, begin

    def _piece_size(self, room: int, limit: int | None) -> int | None:
        """Bytes of a new piece; None if the limit has no room for one beside the others.

        PyTorch pins powers of two, and what a pool leaves behind has the next one if it asks for the same sizes.
        """
        total = sum(piece.numel() for piece in self._pieces)
        size = max(1 << (room - 1).bit_length(), min(max(_floor(total), _LEAST_PIECE), _LARGEST_PIECE))
        if limit is None or total + size <= limit:
            return size
        left = limit - total
        return max(room, _floor(left)) if left >= room else None

    def _new(self, room: int, limit: int | None) -> tuple[int, int] | None:
        """Takes bytes of a new piece; None if the limit has no room for it."""
        size = self._piece_size(room, limit)
        if size is None:
            return None
        try:
            memory = self._link.memory(size)
        except RuntimeError as error:
            raise _NoMemory(str(error)) from error
        if self._poison:
            memory.fill_(POISON)
        self._pieces.append(memory)
        number = len(self._pieces) - 1
        if size > room:
            insort(self._free, (number, room, size))
        return number, 0

    def _release(self, block: Block) -> None:
        """Makes the bytes of a block free, and one place of them and what is free beside them."""
        piece, begin, end = block.piece, block.begin, block.begin + block.memory.numel()
        beside = [one for one in self._free if one[0] == piece and (one[1] == end or one[2] == begin)]
        for one in beside:
            self._free.remove(one)
            begin, end = min(begin, one[1]), max(end, one[2])
        insort(self._free, (piece, begin, end))


def _floor(size: int) -> int:
    """The largest power of two that is no more than a size, or 0."""
    return 1 << size.bit_length() >> 1


#: Where a GPU would say that a stream is not whole; the processor raises an error.
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

    ``ready``: The compression.
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
