"""Sentences of the documents, which say what no command prints: they stand there, and are quoted here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from cdma.base.errors import CdmaError
from cdma.hdl.deliver.document import Bullets, Paragraph, Part, Table

__all__ = ["cited", "document", "quoted"]

_CHECKOUT = Path(__file__).resolve().parents[3]


def document(path: str) -> str:
    """The text of a document, or of a file of measurements, by its path in the repository."""
    packaged = files("cdma") / "documents" / path
    # An editable installation need not have what is no module; its sources are a checkout.
    return (packaged if packaged.is_file() else _CHECKOUT / path).read_text(encoding="utf-8")


def cited(path: str, heading: str, *starts: str) -> list[Part]:
    """What :func:`quoted` gives, after the place where it stands."""
    return [Paragraph(f"`{path}`, {heading}:"), *quoted(path, heading, *starts)]


def quoted(path: str, heading: str, *starts: str) -> list[Part]:
    """The paragraphs, lists and tables below a heading of a document; with ``starts`` those paragraphs and items alone that
    begin so."""
    found = [part for part in map(_part, _blocks(document(path), heading)) if part is not None]
    if starts:
        found = [chosen for part in found if (chosen := _chosen(part, starts)) is not None]
    if not found:
        raise CdmaError(
            f"{path} says nothing below {heading!r} that begins with {' or '.join(starts) or 'anything'}"
        )
    return found


def _blocks(text: str, heading: str) -> Iterator[str]:
    """What blank lines separate below a heading, up to the next one of its level or above."""
    start = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    if start is None:
        return
    rest = text[start.end() :]
    end = re.search(rf"^#{{1,{len(start[1])}}} ", rest, re.MULTILINE)
    yield from re.split(r"\n\s*\n", rest[: end.start() if end else None].strip())


def _part(block: str) -> Part | None:
    lines = block.splitlines()
    if lines[0].startswith("|"):
        titles, _, *rows = ([_plain(cell) for cell in _cells(line)] for line in lines)
        return Table(titles, rows)
    if lines[0].startswith("- "):
        return Bullets([_plain(item) for item in re.split(r"^- ", block, flags=re.MULTILINE)[1:]])
    return None if lines[0].startswith(("```", "#", "![")) else Paragraph(_plain(block))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _plain(text: str) -> str:
    """A text on one line, with names between backquotes, and neither links nor bold letters."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", " ".join(text.split()))
    return text.replace("**", "").replace("\\|", "|")


def _chosen(part: Part, starts: Sequence[str]) -> Part | None:
    """What of a part begins with one of the texts."""
    match part:
        case Paragraph() if part.text.startswith(tuple(starts)):
            return part
        case Bullets():
            items = [item for item in part.items if item.startswith(tuple(starts))]
            return Bullets(items) if items else None
    return None
