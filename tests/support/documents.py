"""What tests take out of documents."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["blocks"]


def blocks(document: Path, language: str = r"\w*") -> list[str]:
    """Returns the text of each fenced block of a document, of one ``language`` or of any, without the fences."""
    text = document.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
