"""A cache of a test's own for what is built, with the parts of the usual one that take long to build and never differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.base.cache import cache_folder

__all__ = ["own_cache"]


def own_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes a folder the cache, with Verilator's runtime and its headers in it."""
    for kind in ("runtime", "headers"):
        usual = cache_folder() / kind
        usual.mkdir(parents=True, exist_ok=True)
        (folder / kind).symlink_to(usual)
    monkeypatch.setenv("CDMA_CACHE", str(folder))
    return folder
