"""Where tables for people go."""

from __future__ import annotations

from rich.console import Console

__all__ = ["wide_console"]

#: Characters of a line where nobody says how many there are: a pipe or a file.
_WIDTH = 160


def wide_console() -> Console:
    """Standard output, as wide as the terminal; wide enough for any table where it is none."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDTH)
