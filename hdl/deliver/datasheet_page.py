"""A document of headings, paragraphs, tables and drawings, as Markdown and as a page of HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Drawing", "Heading", "Paragraph", "Table", "as_html", "as_markdown", "page"]


@dataclass(frozen=True)
class Heading:
    """The heading of a section; level 1 is the title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Sentences, with names between backquotes."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table with a line of titles; names stand between backquotes."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Drawing:
    """A drawing: the name of its file, what it shows, and its SVG."""

    file: str
    shows: str
    svg: str


Part = Heading | Paragraph | Table | Drawing

_PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>{title}</title>
<style>
body{{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}}
table{{border-collapse:collapse;display:block;overflow-x:auto}}
td,th{{border:1px solid #8888;padding:.2em .6em;text-align:left;vertical-align:top}}
svg{{max-width:100%;height:auto}}
</style></head><body>
{body}
</body></html>
"""


def as_markdown(parts: Sequence[Part]) -> str:
    """The document as Markdown; drawings are files beside it."""
    return "\n".join(_markdown(part) for part in parts)


def _markdown(part: Part) -> str:
    if isinstance(part, Heading):
        return f"{'#' * part.level} {part.text}\n"
    if isinstance(part, Paragraph):
        return f"{part.text}\n"
    if isinstance(part, Drawing):
        return f"![{part.shows}]({part.file})\n"
    lines = [part.titles, ["---"] * len(part.titles), *part.rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def as_html(parts: Sequence[Part]) -> str:
    """The document as one page, with its drawings inside."""
    title = next(part.text for part in parts if isinstance(part, Heading))
    return page(title, "\n".join(_html(part) for part in parts))


def page(title: str, body: str) -> str:
    """A page of HTML with a title, in light or dark as the reader's browser is set."""
    return _PAGE.format(title=escape(title), body=body)


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def _html(part: Part) -> str:
    if isinstance(part, Heading):
        return f"<h{part.level}>{_inline(part.text)}</h{part.level}>"
    if isinstance(part, Paragraph):
        return f"<p>{_inline(part.text)}</p>"
    if isinstance(part, Drawing):
        return f"<figure>{part.svg}<figcaption>{_inline(part.shows)}</figcaption></figure>"
    head = "".join(f"<th>{_inline(cell)}</th>" for cell in part.titles)
    rows = "".join(f"<tr>{''.join(f'<td>{_inline(cell)}</td>' for cell in row)}</tr>" for row in part.rows)
    return f"<table><tr>{head}</tr>{rows}</table>"
