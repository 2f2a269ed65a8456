"""What happens when somebody ends the command."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["terminating_cleanly"]


@contextmanager
def terminating_cleanly() -> Iterator[None]:
    """Makes SIGTERM leave through the ``finally`` clauses; only the main thread can ask for that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: Any) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
