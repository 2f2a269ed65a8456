"""What tests of synthesis share: a small cell library, and a cluster on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cdma.synth.library.library import Library
from tests.support.dask_cluster import local_cluster
from tests.support.small_circuits import tiny_library


@pytest.fixture(scope="session")
def tiny() -> Library:
    """The library of ``tiny.lib``."""
    return tiny_library()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A scheduler and two worker processes; a job is lost when it has killed two workers."""
    with local_cluster() as running:
        yield running
