"""Names and messages from files as a terminal may show them: what controls a terminal is written out."""

from __future__ import annotations

__all__ = ["plain"]


def plain(text: str, *, lines: bool = False) -> str:
    """The text with every character that is not printable as an escape, such as ``\\x1b``; ``lines`` may stay apart."""
    return "".join(
        each
        if each.isprintable() or (lines and each == "\n")
        else each.encode("unicode_escape", "surrogatepass").decode()
        for each in text
    )
