"""Plain text as Markdown that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def shown(text: str) -> str:
    """Text in which Markdown finds nothing to do."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", text)


def from_docstring(text: str) -> str:
    """A sentence of a docstring: its code and its references as code."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"``\1``", " ".join(text.split()))
    return re.sub(r"``([^`]+)``", r"`\1`", text).replace("|", r"\|")


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
