"""Python's collector of cycles, held while a design is elaborated."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_collection"]


@contextmanager
def no_collection() -> Iterator[None]:
    """No cycles of objects are looked for inside.

    A design is millions of small objects that all live until its text is there. To go through them again and again
    takes as long as the elaboration itself.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
