"""The Verilog with what was reached beside each line, as text and as a page of HTML."""

from __future__ import annotations

import html
from collections import defaultdict
from pathlib import Path

from .code import CodeCoverage
from .points import BRANCH, LINE, TOGGLE, Point

__all__ = ["annotate"]

#: The colours of the page: a line that was reached, one with something missing, and one that is excluded.
_STYLE = """body { font: 13px/1.35 monospace; background: #fff; color: #222 }
pre { margin: 0; white-space: pre-wrap } .hit { background: #eaf6ea } .missing { background: #fbdcdc }
.excluded { background: #e6e6f2 } .note { color: #555 }"""


def annotate(coverage: CodeCoverage, directory: Path, title: str) -> list[Path]:
    """Writes ``coverage.txt`` and ``coverage.html`` into a directory, and returns their paths.

    A line begins with how often it ran; ``-`` marks one that did not, ``x`` one that is excluded. Below it stand the
    branches that were not taken and the bits that did not rise or fall.
    """
    rows = _rows(coverage)
    directory.mkdir(parents=True, exist_ok=True)
    text, page = directory / "coverage.txt", directory / "coverage.html"
    text.write_text("".join(f"{row}\n" for _, row in rows))
    body = "".join(f'<pre class="{kind}">{html.escape(row)}</pre>\n' for kind, row in rows)
    head = f"<meta charset='utf-8'><title>{html.escape(title)}</title><style>{_STYLE}</style>"
    page.write_text(f"<!doctype html>{head}<h1>{html.escape(title)}</h1>\n{body}")
    return [text, page]


def _rows(coverage: CodeCoverage) -> list[tuple[str, str]]:
    """The class and the text of each row."""
    counts: dict[int, int] = {}
    open_lines = set()
    for (_, line), (count, excluded) in coverage.lines().items():
        counts[line] = max(counts.get(line, 0), count)
        if not excluded:
            open_lines.add(line)
    notes: dict[int, list[Point]] = defaultdict(list)
    for point, count in coverage.points.items():
        if point.kind == BRANCH and point.what.startswith("cond"):
            # What the condition of an expression came to shows that its line was reached.
            counts[point.line] = max(counts.get(point.line, 0), count)
            if point not in coverage.excluded:
                open_lines.add(point.line)
        if not count and point.kind != LINE:
            notes[point.line].append(point)
    rows = []
    for number, text in enumerate(coverage.text, 1):
        count = counts.get(number, 0)
        mark = "" if number not in counts else str(count) if count else "-" if number in open_lines else "x"
        below = sorted(notes[number], key=lambda point: (point.column, point.what))
        branches = [point for point in below if point.kind == BRANCH]
        open_ = [point for point in branches if point not in coverage.excluded]
        kind = "missing" if open_ or mark == "-" else "excluded" if branches or mark == "x" else ""
        rows.append((kind or ("hit" if count else "plain"), f"{mark:>9} {number:>6}  {text}"))
        for point in branches:
            exclusion = coverage.excluded.get(point)
            why = f"excluded: {exclusion.reason}" if exclusion is not None else "never"
            rows.append(("note", f"{'':>18}{' ' * (point.column - 1)}^ {point.what}: {why}"))
        still = [point.what for point in below if point.kind == TOGGLE]
        if still:
            more = f" and {len(still) - 8} more" if len(still) > 8 else ""
            rows.append(("note", f"{'':>18}never: {', '.join(still[:8])}{more}"))
    return rows
