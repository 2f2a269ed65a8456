"""What happens when somebody ends the command."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["terminating_cleanly"]

#: What ends a command: a request to end, and a terminal that was closed, where the system has such a thing.
_ENDS = ("SIGTERM", "SIGHUP")


@contextmanager
def terminating_cleanly() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP leave through the ``finally`` clauses; only the main thread can ask for that.

    A hangup that is ignored, as under nohup, stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: Any) -> None:
        sys.exit(128 + number)

    wanted = [number for name in _ENDS if (number := getattr(signal, name, None)) is not None]
    before = {number: signal.getsignal(number) for number in wanted}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
