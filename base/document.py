"""A document of headings, paragraphs, tables and drawings, as Markdown and as a page of HTML."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Heading:
    """The heading of a section; level 1 is the title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Sentences, with names between backquotes and links to places of the document, ``[text](#place)``."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table with a line of titles; its cells are like paragraphs, ``numbers`` are the columns aligned right, and on a
    terminal a line stands above the rows with the numbers ``lines``."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Collection[int] = ()
    lines: Collection[int] = ()


@dataclass(frozen=True)
class Bullets:
    """A list, each item of which is like a paragraph."""

    items: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Lines of fixed pitch, taken as they are."""

    text: str


@dataclass(frozen=True)
class Anchor:
    """A place for links."""

    name: str


@dataclass(frozen=True)
class Drawing:
    """A drawing: its file, its caption and its SVG."""

    file: str
    caption: str
    svg: str


Part = Heading | Paragraph | Table | Bullets | Code | Anchor | Drawing

_PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>{title}</title>
<style>
body{{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}}
table{{border-collapse:collapse;display:block;overflow-x:auto}}
td,th{{border:1px solid #8888;padding:.2em .6em;text-align:left;vertical-align:top}}
svg{{max-width:100%;height:auto}}
p{{overflow-wrap:anywhere}}
pre{{overflow-x:auto}}
@media print{{table{{display:table}}pre{{white-space:pre-wrap}}}}
</style></head><body>
{body}
</body></html>
"""


def as_markdown(parts: Sequence[Part], rule: str = "---") -> str:
    """The document as Markdown, with drawings as files beside it; ``rule`` stands below each title of a table."""
    return "\n".join(_markdown(part, rule) for part in parts)


def _markdown(part: Part, rule: str) -> str:
    match part:
        case Heading():
            return f"{'#' * part.level} {part.text}\n"
        case Paragraph():
            return f"{part.text}\n"
        case Bullets():
            return "".join(f"- {item}\n" for item in part.items)
        case Code():
            return f"```text\n{part.text}\n```\n"
        case Anchor():
            return f'<a id="{part.name}"></a>\n'
        case Drawing():
            return f"![{part.caption}]({part.file})\n"
    rules = (f"{rule}:" if column in part.numbers else rule for column in range(len(part.titles)))
    rows = "".join(f"| {_cells(row)} |\n" for row in part.rows)
    return f"| {_cells(part.titles).rstrip()} |\n|{'|'.join(rules)}|\n{rows}"


def _cells(row: Sequence[str]) -> str:
    return " | ".join(cell.replace("|", "\\|") for cell in row)


def as_html(parts: Sequence[Part], *, anchors: bool = False) -> str:
    """The document as one page, with its drawings inside, in light or dark as the reader's browser is set.

    With ``anchors`` its headings are places for links, by the names that Git hosts give them.
    """
    title = next(part.text for part in parts if isinstance(part, Heading))
    return _PAGE.format(title=escape(title), body="\n".join(html_of(part, anchors) for part in parts))


def html_of(part: Part, anchors: bool = False) -> str:
    """A part as an element."""
    match part:
        case Heading():
            place = re.sub(r"[^\w\- ]", "", part.text.lower()).replace(" ", "-")
            start = f'h{part.level} id="{place}"' if anchors else f"h{part.level}"
            return f"<{start}>{_inline(part.text)}</h{part.level}>"
        case Paragraph():
            return f"<p>{_inline(part.text)}</p>"
        case Bullets():
            return f"<ul>{''.join(f'<li>{_inline(item)}</li>' for item in part.items)}</ul>"
        case Code():
            return f"<pre>{escape(part.text, quote=False)}</pre>"
        case Anchor():
            return f'<a id="{part.name}"></a>'
        case Drawing():
            return f"<figure>{part.svg}<figcaption>{_inline(part.caption)}</figcaption></figure>"
    return f"<table>{_row('th', part.titles)}{''.join(_row('td', row) for row in part.rows)}</table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_inline(cell)}</{tag}>' for cell in cells)}</tr>"


def _inline(text: str) -> str:
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
    return re.sub(r"\[([^\]]+)\]\((#[^)]+)\)", r'<a href="\2">\1</a>', text)
