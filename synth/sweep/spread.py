"""Many independent jobs, on this machine or on a Dask cluster; a lost job costs nothing but itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, TypeVar

from cdma.hdl.spec.errors import CdmaError
from cdma.synth.errors import MeasureError, ToolError

__all__ = ["Lost", "spread"]

Item = TypeVar("Item")

#: Seconds without a single worker after which a cluster counts as gone.
_PATIENCE = 60.0
#: A worker that the job before has killed may not yet be known to be dead.
_ATTEMPTS_ALONE = 2
#: Seconds between looks at what is done.
_POLL = 0.1


@dataclass(frozen=True)
class Lost:
    """Takes the place of a result; ``reason`` is one line."""

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
    """The place of each item and what ``function`` made of it, or :class:`Lost`, as they are done.

    Here, ``jobs`` threads share the work, which suits work that waits for another process. With
    ``scheduler``, the address of a Dask scheduler, its workers do it: the function and the items travel
    there, and a job whose worker dies is done again by another worker. A job that was on several workers when
    they died is done once more at the end, alone, lest it be lost for what its neighbours do; one that then
    still kills its workers is lost.
    """
    if scheduler is not None:
        yield from _on_cluster(function, items, scheduler, patience)
        return
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(function, item): place for place, item in enumerate(items)}
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
        raise ToolError("Dask is not installed; it comes with: pip install 'cdma[dask]'") from None
    try:
        client = Client(scheduler, timeout=10, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise MeasureError(f"there is no Dask scheduler at {scheduler}: {error}") from None
    with client:
        suspects = []
        for place, outcome in _gather(client, function, dict(enumerate(items)), patience):
            if outcome == _KILLED:
                suspects.append(place)
            else:
                yield place, outcome
        for place in suspects:
            for _ in range(_ATTEMPTS_ALONE):
                ((_, outcome),) = _gather(client, function, {place: items[place]}, patience)
                if outcome != _KILLED:
                    break
            yield place, outcome


def _gather(
    client: Any, function: Callable[[Item], Any], items: dict[int, Item], patience: float
) -> Iterator[tuple[int, Any]]:
    """Does all ``items`` at once; gives each under its key as it is done."""
    from distributed.scheduler import KilledWorker

    futures = {client.submit(function, item, pure=False): place for place, item in items.items()}
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
            place = futures.pop(future)
            if future.status == "finished":
                yield place, future.result()
                continue
            failure = future.exception()
            # No failure: the result was lost with its worker before it could be fetched.
            if failure is None or isinstance(failure, KilledWorker):
                yield place, _KILLED
            elif isinstance(failure, CdmaError):
                yield place, Lost(str(failure))
            else:
                yield place, Lost(f"{type(failure).__name__}: {failure}")
