"""How long a test waits for another process, which tells a process that hangs and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["PATIENCE", "awaited"]

#: Seconds, many times what any of these processes takes.
PATIENCE = 600


def awaited(what: Callable[[], Any]) -> Any:
    """What a function returns, as soon as that is true."""
    deadline = time.monotonic() + PATIENCE
    while not (found := what()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found
