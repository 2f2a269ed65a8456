"""Bytes on the device that are held for the backward pass, and those of them that are leaving."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from .link import Copy

__all__ = ["Gauge", "Leaving"]


@dataclass
class Leaving:
    """Bytes that are being copied to the host, and are on the device until that has ended.

    ``source``
        Where they are.
    ``size``
        Bytes that are counted for them.
    ``wanted``
        Whether the backward pass still needs them.
    ``left``
        Called when they have left.
    """

    copy: Copy
    source: Tensor
    size: int
    wanted: Callable[[], bool]
    left: Callable[[], None]


class Gauge:
    """Counts bytes on the device.

    ``staying``
        Whether what has left is held even so, until there is no room for it. In a backward pass it is soon needed.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self.now = self.peak = self.over = 0
        self.staying = False
        self._leaving: deque[Leaving] = deque()

    def add(self, size: int) -> None:
        """Counts more, or fewer, bytes."""
        self.over += size > 0 and self.is_full(size)
        self.now += size
        self.peak = max(self.peak, self.now)

    def is_full(self, size: int) -> bool:
        """Whether there is no room for so many bytes more."""
        return self._limit is not None and self.now + size > self._limit

    def leaving(self, leaving: Leaving) -> None:
        """Counts bytes until they have left."""
        self.add(leaving.size)
        self._leaving.append(leaving)

    def make_room(self, size: int) -> None:
        """Waits until so many bytes more have room, as far as leaving copies give any."""
        while self._leaving and self.is_full(size):
            self._leaving[0].copy.synchronize()
            self._let_go(self._leaving.popleft())

    def sweep(self) -> None:
        """Strikes out what has left."""
        stay = []
        while self._leaving and self._leaving[0].copy.finished:
            leaving = self._leaving.popleft()
            if self.staying and leaving.wanted():
                stay.append(leaving)
            else:
                self._let_go(leaving)
        self._leaving.extendleft(reversed(stay))

    def _let_go(self, leaving: Leaving) -> None:
        self.now -= leaving.size
        leaving.left()
