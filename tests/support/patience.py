"""How long a test waits for another process, and a cache of its own for what it builds.

The time is long: it tells a process that hangs and nothing else. The cache has the parts of the usual one that take long to
build and never differ.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cdma.base.cache import cache_folder

#: Seconds, many times what any of these processes takes.
PATIENCE = 600


def awaited(what: Callable[[], Any]) -> Any:
    """What a function returns, as soon as that is true."""
    deadline = time.monotonic() + PATIENCE
    while not (found := what()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def own_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes a folder the cache, with Verilator's runtime and its headers in it."""
    for kind in ("runtime", "headers"):
        usual = cache_folder() / kind
        usual.mkdir(parents=True, exist_ok=True)
        (folder / kind).symlink_to(usual)
    monkeypatch.setenv("CDMA_CACHE", str(folder))
    return folder
