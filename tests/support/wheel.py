"""The wheel, built from a copy of the sources. A real Dask cluster on this machine."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import PACKAGES, ROOT
from tests.support.patience import PATIENCE

#: What the wheel is built of.
SOURCES = (
    *sorted({folder.partition("/")[0] for folder in PACKAGES}),
    "docs",
    "pyproject.toml",
    "setup.py",
    "LICENSE",
    "README.md",
    "SECURITY.md",
)


def built_wheel(place: Path) -> Path:
    """The wheel in a new folder, beside the folder ``source`` that it was built in."""
    source = place / "source"
    source.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("build", "__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    # As a build of an older revision would have left it.
    for folder in ("lib", f"lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"):
        stale = source / "build" / folder / "cdma" / "stale.py"
        stale.parent.mkdir(parents=True)
        stale.touch()
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", place, source],
        check=True,
        capture_output=True,
    )
    (built,) = place.glob("*.whl")
    return built


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
