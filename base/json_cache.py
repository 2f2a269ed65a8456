"""Results of measurements, kept by the content of what was measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cdma.base.cache import cache_folder, ready_cache, replace_text

__all__ = ["Cache", "NoCache"]


class Cache:
    """JSON values in files of ``folder``, by default of the folder ``synth`` of the cache.

    Any number of processes may use it at once. A value that cannot be read counts as missing. A folder that cannot be
    written is refused at once, before anything is measured.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = cache_folder() / "synth" if folder is None else folder
        ready_cache(self.folder)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.json"

    def load(self, key: str) -> Any | None:
        """Returns the value stored for ``key``, or None."""
        try:
            return json.loads(self._path(key).read_text())
        except (OSError, ValueError):
            return None

    def store(self, key: str, value: Any) -> None:
        """Keeps ``value`` for ``key``."""
        replace_text(self._path(key), json.dumps(value))

    def kept(self, key: str, make: Callable[[], Any]) -> Any:
        """Returns the value stored for ``key``, which ``make`` gives if there is none."""
        value = self.load(key)
        if value is None:
            value = make()
            self.store(key, value)
        return value


class NoCache(Cache):
    """Keeps nothing."""

    def __init__(self) -> None:
        self.folder = cache_folder()

    def load(self, key: str) -> None:
        return None

    def store(self, key: str, value: Any) -> None:
        pass
