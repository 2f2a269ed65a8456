"""Many independent jobs, on this machine or on a Dask cluster; a lost job costs no other one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, TypeVar

from cdma.hdl.spec.errors import CdmaError
from cdma.hdl.spec.install import install_command
from cdma.synth.errors import MeasureError, ToolError

__all__ = ["Lost", "spread"]

Item = TypeVar("Item")

#: Seconds without a single worker after which a cluster counts as gone.
_PATIENCE = 60.0
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
    items: Sequence[Item],
    *,
    jobs: int = 2,
    scheduler: str | None = None,
    patience: float = _PATIENCE,
) -> Iterator[tuple[int, Any]]:
    """Yields the index of each item and the result of ``function``, or :class:`Lost`, in the order in which they end.

    On this machine ``jobs`` threads share the work, which suits work that waits for another process. With the address
    of a Dask ``scheduler``, its workers share it: the function and the items are sent there, and a job whose worker
    dies is repeated by another worker. A job whose workers died several times is repeated alone at the end, because
    another job on the same workers may have killed them. If its workers die again, the job is lost.
    """
    if scheduler is not None:
        yield from _on_cluster(function, items, scheduler, patience)
        return
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(function, item): index for index, item in enumerate(items)}
        try:
            for future in as_completed(futures):
                try:
                    yield futures[future], future.result()
                except CdmaError as error:
                    yield futures[future], Lost(str(error))
        finally:
            for future in futures:
                future.cancel()


def _on_cluster(
    function: Callable[[Item], Any], items: Sequence[Item], scheduler: str, patience: float
) -> Iterator[tuple[int, Any]]:
    try:
        from distributed import Client
    except ImportError:
        raise ToolError(f"Dask is not installed; it comes with: {install_command('dask')}") from None
    try:
        client = Client(scheduler, timeout=10, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise MeasureError(f"there is no Dask scheduler at {scheduler}: {error}") from None
    with client:
        suspects = []
        for index, outcome in _gather(client, function, dict(enumerate(items)), patience):
            if outcome == _KILLED:
                suspects.append(index)
            else:
                yield index, outcome
        for index in suspects:
            for _ in range(_ATTEMPTS_ALONE):
                ((_, outcome),) = _gather(client, function, {index: items[index]}, patience)
                if outcome != _KILLED:
                    break
            yield index, outcome


def _gather(
    client: Any, function: Callable[[Item], Any], items: dict[int, Item], patience: float
) -> Iterator[tuple[int, Any]]:
    """Submits all ``items`` at once, and yields each key with its result as it ends."""
    from distributed.scheduler import KilledWorker

    futures = {client.submit(function, item, pure=False): index for index, item in items.items()}
    seen = time.monotonic()
    while futures:
        done = [future for future in futures if future.done()]
        if not done:
            time.sleep(_POLL)
        if client.scheduler_info(n_workers=-1)["workers"]:
            seen = time.monotonic()
        elif time.monotonic() - seen > patience:
            raise MeasureError(
                f"the Dask scheduler at {client.scheduler.address} has had no worker for {patience:.0f} s"
            )
        for future in done:
            index = futures.pop(future)
            if future.status == "finished":
                yield index, future.result()
                continue
            failure = future.exception()
            # Without a failure, the result was lost with its worker before it was fetched.
            if failure is None or isinstance(failure, KilledWorker):
                yield index, _KILLED
            elif isinstance(failure, CdmaError):
                yield index, Lost(str(failure))
            else:
                yield index, Lost(f"{type(failure).__name__}: {failure}")
