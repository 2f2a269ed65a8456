"""The account of a context as bars: bytes as they were, and what was held or moved for them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from cdma.base.document import Code, Drawing, Heading, as_html
from cdma.base.errors import ParameterError

_LINE, _NAMES, _BARS, _NUMBERS = 22, 220, 460, 130


def plot(path: str | Path, title: str, text: str, rows: Iterable[tuple[str, int, int]]) -> None:
    """Writes the bars of rows, each a name and both numbers of bytes: as SVG, or as a page of HTML with the ``text``."""
    path = Path(path)
    if path.suffix not in (".svg", ".html"):
        raise ParameterError(f"a report is drawn to {path.name!r}; it must be a file .svg or .html")
    svg = _bars(list(rows))
    page = as_html([Heading(title, 1), Drawing("", "raw (pale), and held or moved (dark)", svg), Code(text)])
    path.write_text(svg if path.suffix == ".svg" else page, encoding="utf-8")


def _bars(rows: list[tuple[str, int, int]]) -> str:
    most = max((max(raw, held) for _, raw, held in rows), default=0) or 1
    parts = []
    for number, (name, raw, held) in enumerate(rows):
        top = number * _LINE
        parts.append(f'<text x="{_NAMES - 8}" y="{top + 15}" text-anchor="end">{escape(name)}</text>')
        for size, height, colour in ((raw, 16, "#9ecae1"), (held, 8, "#08519c")):
            width = _BARS * size / most
            middle = top + 3 + (16 - height) / 2
            parts.append(
                f'<rect x="{_NAMES}" y="{middle:g}" width="{width:.1f}" height="{height}" fill="{colour}"/>'
            )
        where = _NAMES + _BARS * max(raw, held) / most + 6
        parts.append(f'<text x="{where:.1f}" y="{top + 15}">{raw / 1e6:,.2f} / {held / 1e6:,.2f} MB</text>')
    width, height = _NAMES + _BARS + _NUMBERS, max(1, len(rows)) * _LINE + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12" fill="currentColor">{"".join(parts)}</svg>\n'
    )
