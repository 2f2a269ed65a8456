"""A document in Markdown as a page of HTML: as much of Markdown as the documents about registers use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from .datasheet_page import page

__all__ = ["page_of"]


def page_of(text: str) -> str:
    """The page of a document that begins with its title."""
    return page(text.partition("\n")[0].removeprefix("# "), "\n".join(_blocks(text)))


def _blocks(text: str) -> Iterator[str]:
    # A block ends at an empty line, and one of code at its fence.
    for block in re.findall(r"^```.*?^```$|(?:^[^\n]+\n?)+?(?=\n|\Z)", text, re.MULTILINE | re.DOTALL):
        lines = block.strip("\n").split("\n")
        heading = re.fullmatch(r"(#+) (.*)", lines[0])
        if lines[0].startswith("```"):
            yield f"<pre>{escape(chr(10).join(lines[1:-1]), quote=False)}</pre>"
        elif heading:
            level, title = len(heading[1]), heading[2]
            yield f'<h{level} id="{_anchor(title)}">{_inline(title)}</h{level}>'
        elif lines[0].startswith("|"):
            yield _table(lines)
        elif lines[0].startswith("<a id="):
            yield lines[0]
        else:
            yield f"<p>{_inline(' '.join(lines))}</p>"


def _table(lines: list[str]) -> str:
    cells = [re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|")) for line in lines]
    rows = [[_inline(cell.strip().replace("\\|", "|")) for cell in row] for row in cells]
    head = "".join(f"<th>{cell}</th>" for cell in rows[0])
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows[2:])
    return f"<table><tr>{head}</tr>{body}</table>"


def _inline(text: str) -> str:
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
    return re.sub(r"\[([^\]]+)\]\((#[^)]+)\)", r'<a href="\2">\1</a>', text)


def _anchor(title: str) -> str:
    """The name by which Git hosts know a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
