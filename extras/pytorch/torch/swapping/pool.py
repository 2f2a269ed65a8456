"""Memory of the host for what is away: taken in large pieces, for pinning takes long, within a limit, and used again.
Compression by the host's processor of what has arrived there (vDNN++). Bytes of the device that are held for the backward
pass, and those of them that are leaving.
"""

from __future__ import annotations

import threading
from bisect import insort
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cdma.torch.coded import Coded, coded
from cdma.torch.transport import Instant, Transport

_PAGE = 4096
#: Pieces of memory: powers of two, each about as large as all before it, at least and at most.
_LEAST_PIECE, _LARGEST_PIECE = 1 << 20, 1 << 32
#: What memory is filled with that nobody may read, where a context looks for errors.
POISON = 0xA5


class _NoMemory(RuntimeError):
    """The host has no more memory that a link can reach."""


class Block:
    """Bytes of the host for one tensor.

    ``data``: As many bytes as were asked for.
    ``last``: The event behind the last copy that reads or writes them.
    """

    def __init__(self, piece: int, begin: int, memory: Tensor, size: int) -> None:
        self.piece, self.begin, self.memory = piece, begin, memory
        self.data = memory[:size]
        self.last: Any = None


class HostPool:
    """Blocks of the host's memory.

    ``limit``: The most bytes of all pieces together; None for no limit.
    ``poison``: Whether what is given back is overwritten.
    """

    def __init__(self, transport: Transport, limit: int | None, poison: bool = False) -> None:
        self._transport, self._limit, self._poison = transport, limit, poison
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
        room = -(-size // _PAGE) * _PAGE
        while True:
            with self._lock:
                while self._ending and (self._ending[0].last is None or self._ending[0].last.query()):
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
            memory = self._transport.memory(size)
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


class HostStream:
    """A tensor that has arrived, and is being compressed or is compressed.

    ``ready``: The compression.
    """

    def __init__(self, pool: HostPool, block: Block, dtype: torch.dtype) -> None:
        self._pool, self._dtype = pool, dtype
        self.block: Block | None = block
        self.ready: Instant
        self._coded: Coded | None = None

    def compress(self, arrived: Any) -> None:
        """Replaces the block by the stream, if that is smaller."""
        arrived.synchronize()
        assert self.block is not None
        made = coded(self.block.data.view(self._dtype))
        if made.size < self.block.data.numel() and self._pool.charge(made.size):
            self._coded = made
            block, self.block = self.block, None
            self._pool.give_back(block)

    def expand(self, target: Tensor, after: Any) -> None:
        """Restores the bytes in memory that ``after`` may still read."""
        self.ready.synchronize()
        if after is not None:
            after.synchronize()
        if self._coded is None:
            assert self.block is not None
            target.copy_(self.block.data)
        else:
            target.copy_(self._coded.restored().view(torch.uint8))

    def give_back(self) -> None:
        """Returns what the tensor has of the pool."""
        self.ready.synchronize()
        if self._coded is not None:
            self._pool.charge(-self._coded.size)
        elif self.block is not None:
            self._pool.give_back(self.block)


class HostCodec:
    """A thread of the host that compresses and decompresses in the order in which it is asked to."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "cdma-host")

    def compress(self, pool: HostPool, block: Block, dtype: torch.dtype) -> HostStream:
        """Compresses a block when the copy to it has ended."""
        stream = HostStream(pool, block, dtype)
        stream.ready = Instant(self._thread.submit(stream.compress, block.last))
        return stream

    def expand(self, stream: HostStream, target: Block) -> Instant:
        """Decompresses to a block; what reads that comes after the result."""
        return Instant(self._thread.submit(stream.expand, target.data, target.last))


@dataclass
class Leaving:
    """Bytes that are on the device until an event has come.

    ``source``: What they are.
    ``size``: Bytes that are counted for them.
    ``wanted``: Whether the backward pass still needs them.
    ``left``: Called when they have left.
    """

    event: Any
    source: Tensor
    size: int
    wanted: Callable[[], bool]
    left: Callable[[], None]


class Gauge:
    """Counts bytes on the device.

    ``staying``: Whether what has left is held even so, until there is no room for it. In a backward pass it is soon
        needed.
    ``leaving``, ``doubtful``: Bytes that are being copied to the host, and elements of streams whose lengths are coming.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self.now = self.peak = self.over = 0
        self.staying = False
        self.leaving: deque[Leaving] = deque()
        self.doubtful: deque[Leaving] = deque()

    def add(self, size: int) -> None:
        """Counts more, or fewer, bytes."""
        self.over += size > 0 and self.is_full(size)
        self.now += size
        self.peak = max(self.peak, self.now)

    def is_full(self, size: int) -> bool:
        """Whether there is no room for so many bytes more."""
        return self._limit is not None and self.now + size > self._limit

    def count(self, queue: deque[Leaving], leaving: Leaving) -> None:
        """Counts bytes until they have left."""
        self.add(leaving.size)
        queue.append(leaving)

    def make_room(self, size: int) -> None:
        """Waits until so many bytes more have room, as far as what leaves gives any."""
        for queue in (self.doubtful, self.leaving):
            while queue and self.is_full(size):
                queue[0].event.synchronize()
                self._let_go(queue.popleft())

    def settle(self) -> None:
        """Waits for the oldest of the doubtful ones."""
        self.doubtful[0].event.synchronize()
        self._let_go(self.doubtful.popleft())

    def sweep(self) -> None:
        """Strikes out what has left."""
        while self.doubtful and self.doubtful[0].event.query():
            self._let_go(self.doubtful.popleft())
        stay = []
        while self.leaving and self.leaving[0].event.query():
            leaving = self.leaving.popleft()
            if self.staying and leaving.wanted():
                stay.append(leaving)
            else:
                self._let_go(leaving)
        self.leaving.extendleft(reversed(stay))

    def _let_go(self, leaving: Leaving) -> None:
        self.now -= leaving.size
        leaving.left()
