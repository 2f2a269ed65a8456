"""The three streams of the command, made such that every command can rely on them."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

__all__ = ["ready_streams"]


def ready_streams() -> None:
    """Gives closed streams (``>&-``) nothing to read and nowhere to write, and lets the others show any character.

    A descriptor that stays closed would belong to the next file that is opened, and tools would print into it. A
    character that the encoding of a stream does not have appears as an escape.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one.
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with suppress(OSError, ValueError):
                stream.reconfigure(errors="backslashreplace")
