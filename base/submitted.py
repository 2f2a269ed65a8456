"""Jobs behind a command prefix, such as ``srun -n 1``: each is a process of its own, and files carry jobs and results.

The files are in the folder ``jobs`` of the cache, which all machines must see under one path (``CDMA_CACHE``), as they must
see this Python. Results stay until all jobs are done: whoever was interrupted and asks for the same again gets those that
were finished.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

from cdma.base.cache import cache_folder, content_key, replace_bytes
from cdma.base.errors import ParameterError
from cdma.base.threads import ending_with_thread

from .lost import Lost

__all__ = ["Submitter"]

#: Seconds that a result may take to be seen here after its command has ended, on a file system over a network.
_PATIENCE = 10.0


class Submitter:
    """Runs jobs behind ``prefix``, any number of them at once."""

    def __init__(self, prefix: str) -> None:
        try:
            self._prefix = shlex.split(prefix)
        except ValueError as error:
            raise ParameterError(f"submit is {prefix!r}: {error}") from None
        self._folder = cache_folder() / "jobs"
        self._results: set[Path] = set()
        self._lock = threading.Lock()

    def run(self, function: Callable[[Any], Any], item: Any) -> Any:
        """The result of ``function`` for ``item``, or :class:`.Lost`; it blocks."""
        text = pickle.dumps((function, item))
        key = content_key(_package_key(), text)[:32]
        # Two that are the same have one result, and each its job.
        job, result = self._folder / f"{key}.{uuid4().hex}.job", self._folder / f"{key}.result"
        with self._lock:
            self._results.add(result)
        if not result.is_file():
            replace_bytes(job, text)
            try:
                said, status = self._call([*self._prefix, *_python(), str(job), str(result)])
            finally:
                job.unlink(missing_ok=True)
            limit = time.monotonic() + (_PATIENCE if status == 0 else 0)
            while not result.is_file() and time.monotonic() < limit:
                time.sleep(0.2)
            if not result.is_file():
                last = said.strip().splitlines()[-1:] or ["it said nothing"]
                return Lost(f"its command ended with status {status} and left no result: {last[0]}")
        kind, came = pickle.loads(result.read_bytes())
        return came if kind == "done" else Lost(came)

    def _call(self, command: list[str]) -> tuple[str, int]:
        """What a command says, and its status."""
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise ParameterError(f"submit: {command[0]} cannot be run: {error.strerror}") from None
        with ending_with_thread(partial(_end, process)):
            said, _ = process.communicate()
        return said.decode(errors="replace"), process.returncode

    def forget(self) -> None:
        """Removes the results: they have all been taken."""
        for result in self._results:
            result.unlink(missing_ok=True)


@cache
def _package_key() -> str:
    """A key of our own sources: a result is theirs."""
    rooms = [find_spec(f"cdma.{name}") for name in ("hdl", "sim", "synth", "verif")]
    folders = [Path(str(spec.origin)).parent for spec in rooms if spec is not None]
    return content_key(*(path.read_bytes() for room in folders for path in sorted(room.rglob("*.py"))))


def _python() -> list[str]:
    return [sys.executable, "-m", "cdma.base.job"]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Asks a command to end, and all that it started; a scheduler's command then takes its job back."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
