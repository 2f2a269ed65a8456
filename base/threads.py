"""Threads that wait for other processes, which end with whoever gives up waiting for the threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager

__all__ = ["ending_with_thread", "tool_threads"]


class _Ends:
    """How to end what a pool of threads has started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: list[Callable[[], None]] = []
        self._given_up = False

    @contextmanager
    def holding(self, end: Callable[[], None]) -> Iterator[None]:
        with self._lock:
            self._ends.append(end)
            given_up = self._given_up
        try:
            if given_up:
                end()
            yield
        finally:
            with self._lock:
                self._ends.remove(end)
        if self._given_up:
            raise CancelledError

    def end(self) -> None:
        with self._lock:
            self._given_up = True
            ends = list(self._ends)
        for end in ends:
            end()


class _Here(threading.local):
    """What the thread that asks belongs to."""

    ends: _Ends | None = None


_HERE = _Here()


@contextmanager
def ending_with_thread(end: Callable[[], None]) -> Iterator[None]:
    """Inside, ``end`` is called if the thread is one of :func:`tool_threads` that nobody waits for any longer.

    It is called from another thread, and may find what it should end already ended. The block then ends with
    :class:`~concurrent.futures.CancelledError`, so that nobody takes what was ended for a result.
    """
    if _HERE.ends is None:
        yield
    else:
        with _HERE.ends.holding(end):
            yield


@contextmanager
def tool_threads(number: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of so many threads. If the block inside is left by an exception, as by an interrupt, what the threads have
    started ends, and jobs that have not begun never do.

    Without this, whoever is interrupted waits for the threads, and they for their processes, which know of nothing.
    """
    ends = _Ends()

    def begin() -> None:
        _HERE.ends = ends

    # Threads of threads: if nobody waits for the outer ones, nobody waits for these.
    with ending_with_thread(ends.end), ThreadPoolExecutor(number, initializer=begin) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            ends.end()
            raise
