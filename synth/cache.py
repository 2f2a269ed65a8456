"""Results kept by content: what went in is the key, so that nothing kept can ever be stale."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["Cache", "NoCache", "content_key"]


def content_key(*parts: str | bytes) -> str:
    """A key of everything that determines a result; where a part ends and the next begins counts as well."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()


class Cache:
    """JSON values in files, by default under ``CDMA_CACHE``, else ``XDG_CACHE_HOME/cdma``, else
    ``~/.cache/cdma``.

    Any number of processes may use it at once; a value that cannot be read counts as missing.
    """

    def __init__(self, folder: Path | None = None) -> None:
        if folder is None:
            base = os.environ.get("XDG_CACHE_HOME")
            home = Path(base) if base else Path.home() / ".cache"
            folder = Path(os.environ.get("CDMA_CACHE") or home / "cdma") / "synth"
        self.folder = folder

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.json"

    def load(self, key: str) -> Any | None:
        try:
            return json.loads(self._path(key).read_text())
        except (OSError, ValueError):
            return None

    def store(self, key: str, value: Any) -> None:
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
        try:
            with open(handle, "w") as file:
                json.dump(value, file)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise


class NoCache(Cache):
    """Keeps nothing."""

    def load(self, key: str) -> None:
        return None

    def store(self, key: str, value: Any) -> None:
        pass
