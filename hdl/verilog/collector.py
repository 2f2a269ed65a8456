"""Python's collector of cycles, held while a design is elaborated."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_collection"]

#: The objects that a process may make after a design before the collector goes through what is left of it.
_LATER = 100_000

# To go through the objects of the last design takes longer than to write its Verilog.
atexit.register(gc.freeze)


@contextmanager
def no_collection() -> Iterator[None]:
    """No cycles of objects are looked for inside, nor at once after it.

    A design is millions of small objects that all live until its text is there. To go through them again and again
    takes as long as the elaboration itself, and most processes end with their first design.
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
