"""Many independent jobs, on this machine or on a Dask cluster; a lost job costs no other one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from cdma.base.errors import CdmaError, ToolError
from cdma.base.install import install_command
from cdma.base.threads import tool_threads

__all__ = ["Lost", "spread"]

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
