"""What a tool in Python said, without the lines of its program."""

from __future__ import annotations

import re

__all__ = ["last_words"]

#: The line that ends the last traceback: an exception by its name, and what it says.
_EXCEPTION = re.compile(r"^(?:[\w.]+\.)?\w+: ", re.MULTILINE)


def last_words(text: str) -> str:
    """What the last exception of ``text`` says, in one line; without a traceback, the text as it is."""
    _, traceback, rest = text.rpartition("Traceback (most recent call last):\n")
    raised = _EXCEPTION.search(rest) if traceback else None
    if raised is None:
        return text.strip()
    lines = (line.strip() for line in rest[raised.end() :].splitlines())
    return ", ".join(line.rstrip(":") for line in lines if line and line != "Caused by:")
