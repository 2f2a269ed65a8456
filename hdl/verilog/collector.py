"""Pauses Python's garbage collector during elaboration."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_collection"]

#: The allocations after a design before the next collection.
_LATER = 100_000

# At exit, a collection of the last design would take longer than its Verilog did.
atexit.register(gc.freeze)


@contextmanager
def no_collection() -> Iterator[None]:
    """No garbage collection inside, nor right after it.

    A design is millions of small objects, all alive until its text is written. Repeated collections would take as long as
    the elaboration itself, and most processes end with their first design.
    """
    was_enabled = gc.isenabled()
    if was_enabled and gc.get_count()[0] > _LATER:
        gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.set_threshold(gc.get_count()[0] + _LATER, *gc.get_threshold()[1:])
            gc.enable()
