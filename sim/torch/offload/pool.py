"""Memory of the host for what is away: pinned, within a limit, and used again."""

from __future__ import annotations

import threading
from collections import defaultdict

from torch import Tensor

from .link import Link, Ordered

__all__ = ["POISON", "Block", "HostPool"]

_PAGE = 4096
#: What memory is filled with that nobody may read, where a context looks for errors.
POISON = 0xA5


class Block:
    """Bytes of the host for one tensor.

    ``data``
        As many bytes as were asked for.
    ``last``
        The last copy that reads or writes them; the next one comes after it.
    """

    def __init__(self, memory: Tensor) -> None:
        self.memory = memory
        self.data = memory
        self.last: Ordered | None = None


class HostPool:
    """Blocks of the host's memory.

    ``limit``
        The most bytes of all blocks together; None for no limit.
    ``poison``
        Whether what is given back is overwritten.
    """

    def __init__(self, link: Link, limit: int | None, poison: bool = False) -> None:
        self._link, self._limit, self._poison = link, limit, poison
        self._lock = threading.Lock()
        self._free: dict[int, list[Block]] = defaultdict(list)
        self.allocated = self.taken = self.peak = 0

    def take(self, size: int) -> Block | None:
        """A block, or None if the limit has no room for it."""
        return self._take(size, self._limit)

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
            size = block.memory.numel()
            self.taken -= size
            self._free[size].append(block)

    def charge(self, size: int) -> bool:
        """Counts bytes of the host beside the blocks, or fewer; returns whether the limit has room for them."""
        with self._lock:
            if size > 0 and self._limit is not None and self.allocated + size > self._limit:
                return False
            self.allocated += size
            self.taken += size
            self.peak = max(self.peak, self.taken)
            return True

    def _take(self, size: int, limit: int | None) -> Block | None:
        rounded = _rounded(size)
        with self._lock:
            block = self._free[rounded].pop() if self._free[rounded] else self._new(rounded, limit)
            if block is None:
                return None
            self.taken += rounded
            self.peak = max(self.peak, self.taken)
        block.data = block.memory[:size]
        return block

    def _new(self, size: int, limit: int | None) -> Block | None:
        if limit is not None:
            # Free blocks of other sizes make room, the largest first.
            for other in sorted(self._free, reverse=True):
                while self._free[other] and self.allocated + size > limit:
                    self._drop(self._free[other].pop())
            if self.allocated + size > limit:
                return None
        self.allocated += size
        block = Block(self._link.memory(size))
        if self._poison:
            block.memory.fill_(POISON)
        return block

    def _drop(self, block: Block) -> None:
        if block.last is not None:
            block.last.synchronize()
        self.allocated -= block.memory.numel()


def _rounded(size: int) -> int:
    """So few sizes that blocks are used again: eighths of a power of two, of whole pages."""
    step = max(_PAGE, 1 << max(0, size.bit_length() - 4))
    return -(-size // step) * step
