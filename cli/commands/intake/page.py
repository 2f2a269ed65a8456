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

from . import block_lines, cost_lines
from . import block_lines as limit_lines
from . import block_lines as transaction_lines
from .line import FAILS, NOT_SHOWN, RECORD, SHOWN, STATUSES, Line, Section
from .parts import certificate_line
from .subject import Subject

#: By title; a line that a block has not is None.
SECTIONS: Mapping[str, Sequence[Callable[[Subject], Line | None]]] = {
    "The block": (block_lines.what, block_lines.verilog, block_lines.parameters),
    "Clocks, resets, ports": (
        block_lines.clocks,
        block_lines.resets,
        block_lines.ports,
        block_lines.interfaces,
        block_lines.protocol,
    ),
    "Transactions and errors": (
        transaction_lines.ordering,
        transaction_lines.outstanding,
        transaction_lines.boundaries,
        transaction_lines.narrow,
        transaction_lines.errors,
    ),
    "Speed": (cost_lines.latency, cost_lines.waveform, cost_lines.throughput),
    "Cost": (cost_lines.area, cost_lines.fpga, cost_lines.memories, cost_lines.power),
    "Security": (transaction_lines.security,),
    "Certificate": tuple(
        partial(certificate_line, name)
        for name in (
            "lint",
            "netlist",
            "tests",
            "gates",
            "four-states",
            "coverage",
            "proofs",
            "mutants",
            "faults",
        )
    ),
    "Limits": (limit_lines.limits, limit_lines.never_tried),
}
#: The section whose verdict an intake begins with.
VERDICT = "Certificate"


def sections_of(subject: Subject, earlier: Sequence[Line] = ()) -> list[Section]:
    """All lines; what this run does not show is taken from ``earlier`` ones, the last of which counts."""
    kept = {line.key: line for line in earlier if line.status != NOT_SHOWN}
    found = [
        Section(title, [_best(line, kept.get(line.key)) for make in makers if (line := make(subject))])
        for title, makers in SECTIONS.items()
    ]
    own = next(section for section in found if section.title == VERDICT)
    others = [line for section in found if section is not own for line in section.lines]
    verdict = limit_lines.verdict(subject, own.lines, others)
    return [
        Section(section.title, [verdict, *section.lines]) if section is own else section for section in found
    ]


def _best(line: Line, kept: Line | None) -> Line:
    """The line of this run, or that of an earlier one where this one shows nothing, or has an older record alone."""
    if kept is None or line.status in (SHOWN, FAILS):
        return line
    return kept if kept.date >= line.date else line


#: The lines that the page begins with.
KEYS = ("area", "latency", "throughput", "memories", "power", "tests", "proofs", "never-tried")
#: How a status looks without its colour, and the name of its style.
_SIGNS = {SHOWN: ("✓", "shown"), RECORD: ("◷", "record"), NOT_SHOWN: ("○", "open"), FAILS: ("✗", "fails")}
_MEANING = {
    SHOWN: "by this run",
    RECORD: "an earlier run, at the date and the revision that stand there",
    NOT_SHOWN: "nothing was run that shows it",
    FAILS: "does not hold",
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
    legend = (f"{counts[status]} {_mark(status)}: {escape(_MEANING[status])}" for status in STATUSES)
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
    sign, style = _SIGNS[line.status]
    return f'<b class="{style}" title="{line.status}">{sign}</b>'


def _mark(status: str) -> str:
    sign, style = _SIGNS[status]
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
    return (
        f'<div class="wide" tabindex="0">{html_of(part)}</div>'
        if not isinstance(part, Paragraph)
        else html_of(part)
    )
