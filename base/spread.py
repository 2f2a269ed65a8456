"""Runs independent jobs in threads with tools, in processes, or on a Dask cluster.

An interrupt of the caller also ends the tools' processes. A lost job costs no other one.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from cdma.base.errors import CdmaError, ToolError, install_command

#: The line that ends the last traceback: an exception by its name, and what it says.
_EXCEPTION = re.compile(r"^(?:[\w.]+\.)?\w+: ", re.MULTILINE)


def last_words(text: str) -> str:
    """What the last exception of ``text`` says, in one line; without a traceback, the text as it is."""
    _, traceback, rest = text.rpartition("Traceback (most recent call last):\n")
    raised = _EXCEPTION.search(rest) if traceback else None
    if raised is None:
        return text.strip()
    lines = (line.strip() for line in rest[raised.end() :].splitlines())
    return ", ".join(line.rstrip(":") for line in lines if line and line != "Caused by:")


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


Item = TypeVar("Item")

#: Seconds without a single worker after which a cluster counts as gone.
_PATIENCE = 60.0
#: Seconds in which a scheduler answers.
_CONNECTING = 10.0
#: A job alone is tried twice: the scheduler may not know yet that the job before has killed a worker.
_ATTEMPTS_ALONE = 2
#: Seconds between looks at what is done.
_POLL = 0.1


@dataclass(frozen=True)
class Lost:
    """Stands for a result that was lost; ``reason`` is one line."""

    reason: str


_KILLED = Lost("the workers that tried it died")


def spread(
    function: Callable[[Item], Any],
    items: Iterable[Item],
    *,
    jobs: int = 2,
    scheduler: str | None = None,
    patience: float = _PATIENCE,
    seconds: float | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yields the index of each item and the result of ``function``, or :class:`Lost`, in the order in which they end.

    After so many ``seconds`` the jobs that still run are given up, and yield nothing.

    Items are taken as workers get free, so that there need be no end of them.

    On this machine ``jobs`` threads share the work, which suits work that waits for another process. With the address
    of a Dask ``scheduler``, its workers share it: the function and the items are sent there, and a job whose worker
    dies is repeated by another worker. A job whose workers died several times is repeated alone at the end, because
    another job on the same workers may have killed them. If its workers die again, the job is lost.
    """
    end = math.inf if seconds is None else time.monotonic() + seconds
    if scheduler is not None:
        yield from _on_cluster(function, items, scheduler, patience, end)
    else:
        with suppress(_TimeIsOver):
            yield from _in_threads(function, items, jobs, end)


class _TimeIsOver(Exception):
    """Leaves a pool of threads such that their processes end."""


def _in_threads(
    function: Callable[[Item], Any], items: Iterable[Item], jobs: int, end: float
) -> Iterator[tuple[int, Any]]:
    waiting = enumerate(items)
    futures: dict[Future[Any], int] = {}
    with tool_threads(jobs) as pool:
        while True:
            futures |= {
                pool.submit(function, item): index for index, item in islice(waiting, jobs - len(futures))
            }
            if not futures:
                return
            left = None if end == math.inf else max(0.0, end - time.monotonic())
            done = wait(futures, left, FIRST_COMPLETED).done
            if not done:
                raise _TimeIsOver
            for future in done:
                index = futures.pop(future)
                try:
                    yield index, future.result()
                except CdmaError as error:
                    yield index, Lost(str(error))


def _on_cluster(
    function: Callable[[Item], Any], items: Iterable[Item], scheduler: str, patience: float, end: float
) -> Iterator[tuple[int, Any]]:
    try:
        from distributed import Client
    except ImportError:
        raise ToolError(f"Dask is not installed; it comes with: {install_command('dask')}") from None
    try:
        client = Client(scheduler, timeout=min(_CONNECTING, patience), set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ToolError(f"there is no Dask scheduler at {scheduler}: {error}") from None
    with client:
        suspects = []
        for index, item, outcome in _gather(client, function, enumerate(items), patience, end):
            if outcome == _KILLED:
                suspects.append((index, item))
            else:
                yield index, outcome
        for index, item in suspects:
            for _ in range(_ATTEMPTS_ALONE):
                ((_, _, outcome),) = _gather(client, function, iter([(index, item)]), patience, math.inf)
                if outcome != _KILLED:
                    break
            yield index, outcome


def _gather(
    client: Any,
    function: Callable[[Item], Any],
    items: Iterator[tuple[int, Item]],
    patience: float,
    end: float,
) -> Iterator[tuple[int, Item, Any]]:
    """Submits ``items`` as threads of the cluster get free, and yields each key and item with its result as it ends."""
    from distributed.scheduler import KilledWorker

    futures: dict[Any, tuple[int, Item]] = {}
    seen = time.monotonic()
    while True:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        if workers:
            seen = time.monotonic()
        elif time.monotonic() - seen > patience:
            raise ToolError(
                f"the Dask scheduler at {client.scheduler.address} has had no worker for {patience:.0f} s"
            )
        # Twice as many as there are threads, so that none of them waits for us.
        room = 2 * max(1, sum(worker["nthreads"] for worker in workers.values())) - len(futures)
        for index, item in islice(items, max(0, room)):
            futures[client.submit(function, item, pure=False)] = index, item
        if not futures or time.monotonic() > end:
            return
        done = [future for future in futures if future.done()]
        if not done:
            time.sleep(_POLL)
        for future in done:
            index, item = futures.pop(future)
            if future.status == "finished":
                yield index, item, future.result()
                continue
            failure = future.exception()
            # Without a failure, the result was lost with its worker before it was fetched.
            if failure is None or isinstance(failure, KilledWorker):
                yield index, item, _KILLED
            elif isinstance(failure, CdmaError):
                yield index, item, Lost(str(failure))
            else:
                yield index, item, Lost(f"{type(failure).__name__}: {failure}")
