"""A real Dask cluster on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.patience import PATIENCE

__all__ = ["local_cluster"]


@contextmanager
def local_cluster() -> Iterator[Any]:
    """A scheduler and two worker processes; a job is lost when it has killed two workers."""
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    settings = {
        "distributed.scheduler.allowed-failures": 1,
        "distributed.worker.memory.terminate": False,
        # A worker that has died comes back, however long that takes.
        "distributed.comm.timeouts.connect": PATIENCE,
        "distributed.comm.timeouts.tcp": PATIENCE,
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as running,
    ):
        yield running
