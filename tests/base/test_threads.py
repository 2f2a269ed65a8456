"""Threads that wait for processes: what they have started ends with whoever gives up, and is nobody's result."""

from __future__ import annotations

from concurrent.futures import CancelledError, Future
from contextlib import suppress
from threading import Event

import pytest

from cdma.base.spread import ending_with_thread, tool_threads

#: Seconds that nothing here takes.
FAR = 30.0


def _wait(begun: Event, ended: Event) -> str:
    """What a thread does that waits for a process."""
    with ending_with_thread(ended.set):
        begun.set()
        assert ended.wait(FAR)
    return "a result"


def test_an_interrupted_thread_ends_without_a_result() -> None:
    futures: list[Future[str]] = []
    begun, ended = Event(), Event()
    with suppress(KeyboardInterrupt), tool_threads(1) as pool:
        futures = [pool.submit(_wait, begun, ended), pool.submit(_wait, Event(), Event())]
        assert begun.wait(FAR)
        raise KeyboardInterrupt
    with pytest.raises(CancelledError):
        futures[0].result(0)
    assert futures[1].cancelled(), "it had not begun"


def test_threads_of_threads() -> None:
    begun, ended = Event(), Event()

    def outer() -> str:
        with tool_threads(1) as pool:
            return pool.submit(_wait, begun, ended).result()

    with suppress(SystemExit), tool_threads(1) as pool:
        future = pool.submit(outer)
        assert begun.wait(FAR)
        raise SystemExit
    assert isinstance(future.exception(0), CancelledError)


def test_a_process_started_after_an_interrupt_ends_at_once() -> None:
    begun, first, second = Event(), Event(), Event()

    def one_after_the_other() -> str:
        with suppress(CancelledError):
            _wait(begun, first)
        return _wait(Event(), second)

    with suppress(KeyboardInterrupt), tool_threads(1) as pool:
        future = pool.submit(one_after_the_other)
        assert begun.wait(FAR)
        raise KeyboardInterrupt
    assert isinstance(future.exception(0), CancelledError)
    assert second.is_set()


def test_a_result_is_a_result() -> None:
    ended = Event()

    def done() -> int:
        with ending_with_thread(ended.set):
            return 5

    with tool_threads(2) as pool:
        assert pool.submit(done).result() == 5
    assert done() == 5, "in no such thread"
    assert not ended.is_set()
