"""The files of a package that users grow from: each says by a digest in its first line whether somebody has changed it."""

from __future__ import annotations

import hashlib

__all__ = ["is_edited", "may_grow", "signed"]

#: The ends of their names, and what begins a comment there.
_COMMENTS = {"_tb.v": "//", "_cocotb.py": "#"}
_SAID = "Yours to edit: cdma generate does not overwrite it once it is edited. Digest of what follows:"


def may_grow(file: str) -> bool:
    """Whether a file of this name is one that users grow from."""
    return file.endswith(tuple(_COMMENTS))


def signed(file: str, text: str) -> str:
    """The text of a file below the line with its digest."""
    return f"{_line(file, text)}\n{text}"


def is_edited(file: str, text: str) -> bool:
    """Whether the text of a file is none that :func:`signed` has made: also one that is older than that."""
    first, _, rest = text.partition("\n")
    return first != _line(file, rest)


def _line(file: str, text: str) -> str:
    comment = next(comment for end, comment in _COMMENTS.items() if file.endswith(end))
    return f"{comment} {_SAID} {hashlib.sha256(text.encode()).hexdigest()[:16]}."
