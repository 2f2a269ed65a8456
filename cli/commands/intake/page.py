"""The lines of an intake in their order. An intake as one HTML page that needs nothing else, on a screen of any width
and on paper.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from importlib.resources import files
from string import Template

from cdma.base.document import Bullets, Drawing, Paragraph, Part, html_of

from . import block_lines as of_block
from . import cost_lines as of_cost
from .parts import PARTS, certificate_line
from .subject import FAILS, NOT_SHOWN, RECORD, SHOWN, STATUSES, Line, Section, Subject

#: By title; a line that a block has not is None.
SECTIONS: Mapping[str, Sequence[Callable[[Subject], Line | None]]] = {
    "The block": (of_block.what, of_block.verilog, of_block.parameters),
    "Clocks, resets, ports": (
        *(of_block.clocks, of_block.resets, of_block.ports),
        *(of_block.interfaces, of_block.protocol),
    ),
    "Transactions and errors": (
        *(of_block.ordering, of_block.outstanding, of_block.boundaries),
        *(of_block.narrow, of_block.errors),
    ),
    "Speed": (of_cost.latency, of_cost.waveform, of_cost.throughput),
    "Cost": (of_cost.area, of_cost.fpga, of_cost.memories, of_cost.power),
    "Security": (of_block.security,),
    "Certificate": tuple(partial(certificate_line, name) for name, part in PARTS.items() if part.title),
    "Limits": (of_block.limits, of_block.never_tried),
}
#: The section whose verdict an intake begins with.
VERDICT = "Certificate"


def sections_of(subject: Subject, earlier: Sequence[Line] = ()) -> list[Section]:
    """All lines; what this run does not show is taken from ``earlier`` ones, the last of which counts."""
    kept = {line.key: line for line in earlier if line.status != NOT_SHOWN}
    found = {
        title: [_best(line, kept.get(line.key)) for make in makers if (line := make(subject))]
        for title, makers in SECTIONS.items()
    }
    others = [line for title, lines in found.items() if title != VERDICT for line in lines]
    found[VERDICT].insert(0, of_block.verdict(subject, list(found[VERDICT]), others))
    return [Section(title, lines) for title, lines in found.items()]


def _best(line: Line, kept: Line | None) -> Line:
    """The line of this run, or that of an earlier one where this one shows nothing, or has an older record alone."""
    if kept is None or line.status in (SHOWN, FAILS):
        return line
    return kept if kept.date >= line.date else line


#: The lines that the page begins with.
KEYS = ("area", "latency", "throughput", "memories", "power", "tests", "proofs", "never-tried")
#: How a status looks without its colour, the name of its style, and what it means.
_SIGNS = {
    SHOWN: ("✓", "shown", "by this run"),
    RECORD: ("◷", "record", "an earlier run, at the date and the revision that stand there"),
    NOT_SHOWN: ("○", "open", "nothing was run that shows it"),
    FAILS: ("✗", "fails", "does not hold"),
}


def page(title: str, facts: Mapping[str, str], sections: Sequence[Section]) -> str:
    """The page; ``facts`` say what it is about and how it was made."""
    template = Template((files(__package__) / "page.html").read_text("utf-8"))
    return template.substitute(title=escape(title), body="\n".join(_body(title, facts, sections)))


def _body(title: str, facts: Mapping[str, str], sections: Sequence[Section]) -> Iterator[str]:
    lines = {line.key: line for section in sections for line in section.lines}
    counts = Counter(line.status for line in lines.values())
    verdict = lines["verdict"]
    told = (f"{escape(name)} <code>{escape(value)}</code>" for name, value in facts.items())
    yield f"<header><h1>{escape(title)}</h1>"
    yield f'<p class="meta">{" · ".join(told)}</p>'
    yield f'<p class="verdict">{_sign(verdict)} {escape(verdict.answer)}</p>'
    legend = (f"{counts[status]} {_mark(status)}: {escape(_SIGNS[status][2])}" for status in STATUSES)
    yield f'<p class="meta">Of {len(lines)} lines {"; ".join(legend)}.</p></header>'
    yield f'<ul class="glance">{"".join(_glance(lines[key]) for key in KEYS)}</ul>'
    yield '<nav aria-label="Contents"><h2>Contents</h2><ol>'
    for section in sections:
        items = "".join(
            f'<li>{_sign(line)} <a href="#{line.key}">{escape(line.title)}</a></li>' for line in section.lines
        )
        yield f"<li><strong>{escape(section.title)}</strong><ol>{items}</ol></li>"
    yield "</ol></nav><main>"
    for section in sections:
        yield f"<h2>{escape(section.title)}</h2>"
        yield from map(_article, section.lines)
    yield "</main>"


def _sign(line: Line) -> str:
    sign, style, _ = _SIGNS[line.status]
    return f'<b class="{style}" title="{line.status}">{sign}</b>'


def _mark(status: str) -> str:
    sign, style, _ = _SIGNS[status]
    return f'<span class="badge {style}">{sign} {status}</span>'


def _glance(line: Line) -> str:
    style, answer = _SIGNS[line.status][1], html_of(Paragraph(line.answer))
    return f'<li class="{style}"><a href="#{line.key}">{escape(line.title)}</a> {_mark(line.status)}{answer}</li>'


def _article(line: Line) -> str:
    """A line: its status, its answer, what it says more, and what shows it."""
    style = _SIGNS[line.status][1]
    commands = "".join(f"<code>{escape(command)}</code>" for command in line.commands)
    by = f"Shown on {line.date}, revision {line.revision}, by"
    if line.status == NOT_SHOWN:
        by = "Nothing can show it; what comes nearest is" if line.nearest else "Would be shown by"
    fails = html_of(Bullets(line.fails)) if line.fails else ""
    answer = f'<div class="answer">{html_of(Paragraph(line.answer))}</div>' if line.answer else ""
    return (
        f'<article id="{line.key}" class="{style}"><div class="head"><h3>{escape(line.title)}</h3>{_mark(line.status)}</div>'
        f'{answer}{fails}{"".join(map(_part, line.parts))}<div class="by">{escape(by)}{commands}</div></article>\n'
    )


def _part(part: Part) -> str:
    if isinstance(part, Drawing):
        # As an image its names and styles are its own.
        source = b64encode(part.svg.encode()).decode()
        image = f'<img alt="{escape(part.caption)}" src="data:image/svg+xml;base64,{source}">'
        return f"<figure>{image}<figcaption>{escape(part.caption)}</figcaption></figure>"
    text = html_of(part)
    return text if isinstance(part, Paragraph) else f'<div class="wide" tabindex="0">{text}</div>'
