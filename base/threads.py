"""Thread pools for external tools; an interrupt of the caller also ends the tools' processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager

__all__ = ["ending_with_thread", "tool_threads"]


class _Ends:
    """The running processes of a pool, each as a function that ends it."""

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
    """The pool of the current thread."""

    ends: _Ends | None = None


_HERE = _Here()


@contextmanager
def ending_with_thread(end: Callable[[], None]) -> Iterator[None]:
    """Inside, ``end`` is called if the pool of :func:`tool_threads` around this thread is cancelled.

    It is called from another thread, possibly after the process has ended. The block then raises
    :class:`~concurrent.futures.CancelledError`, so that the output of a killed process is never taken for a result.
    """
    if _HERE.ends is None:
        yield
    else:
        with _HERE.ends.holding(end):
            yield


@contextmanager
def tool_threads(number: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of ``number`` threads. An exception inside, such as an interrupt, ends the processes of all threads and cancels
    all waiting jobs.

    Without this, the interrupted caller would wait for the threads, and these for their processes, which run on.
    """
    ends = _Ends()

    def begin() -> None:
        _HERE.ends = ends

    # A pool inside a pool: it is cancelled with the outer one.
    with ending_with_thread(ends.end), ThreadPoolExecutor(number, initializer=begin) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            ends.end()
            raise
