"""Results kept by the content of what they were made from, so that none is ever stale.

Any number of processes may use the cache at once. An entry appears under its name in one step, when it is whole; of two
processes that make the same, the first to finish keeps its result.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cdma.base.errors import CdmaError

#: What ``cdma --verbose`` shows.
_log = logging.getLogger(__name__)


def cache_folder() -> Path:
    """Returns where everything is kept: ``CDMA_CACHE``, else ``XDG_CACHE_HOME/cdma``, else ``~/.cache/cdma``."""
    if override := os.environ.get("CDMA_CACHE"):
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "cdma"


class CacheError(CdmaError, OSError):
    """The folder that results are kept in cannot be written."""


def ready_cache(folder: Path) -> None:
    """Makes a folder of the cache if need be, and refuses one that cannot be written, before the work to be kept."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CacheError(
            f"cannot keep results in {folder}: {error.strerror or error}; the environment variable CDMA_CACHE names "
            "another folder"
        ) from None


def content_key(*parts: str | bytes) -> str:
    """Returns a key of everything that determines a result; where one part ends and the next begins counts too."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()


def kept_text(kind: str, key: str, suffix: str, make: Callable[[], str]) -> str:
    """Returns the text kept for ``key`` among those of its ``kind``; ``make`` makes it if there is none."""
    path = cache_folder() / kind / f"{key[:32]}{suffix}"
    if path.is_file():
        _log.info("kept %s", path)
        return path.read_text()
    ready_cache(path.parent)
    began = time.monotonic()
    text = make()
    replace_text(path, text)
    _log.info("made %s in %.1f s", path, time.monotonic() - began)
    return text


def kept_folder(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """Returns the folder kept for ``key`` among those of its ``kind``; ``make`` fills a new one if there is none."""
    path = cache_folder() / kind / key[:32]
    if path.is_dir():
        _log.info("kept %s", path)
        return path
    ready_cache(path.parent)
    began = time.monotonic()
    part = Path(tempfile.mkdtemp(prefix=f".{key[:8]}-", dir=path.parent))
    try:
        make(part)
        try:
            part.rename(path)
        except OSError:
            # Another process finished first; its folder has the same content.
            if not path.is_dir():
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    _log.info("made %s in %.1f s", path, time.monotonic() - began)
    return path


def replace_text(path: Path, text: str) -> None:
    """:func:`replace_bytes` for text."""
    replace_bytes(path, text.encode())


def replace_bytes(path: Path, content: bytes) -> None:
    """Writes a file in one step: whoever reads ``path`` finds the old content or the new one, and never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(prefix=".part-", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


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
