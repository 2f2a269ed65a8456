"""A document of headings, paragraphs, tables and drawings, as Markdown and HTML, and that of a design's memories."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from cdma.hdl.verilog.printer.design import PlacedMemory
from cdma.hdl.verilog.printer.memories import Shape


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
    """A table with a line of titles; its cells are like paragraphs, and ``numbers`` are the columns aligned right."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Collection[int] = ()


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


def memory_row(memory: PlacedMemory) -> dict[str, Any]:
    """A memory as plain values, of which the first says what it is for.

    ``read_latency`` is 1 for a word in the cycle after its address, and 0 for one in the same cycle, as register files and
    look-up tables read; ``write_granularity`` is the number of bits for each write enable. Of the ``bits`` of
    one whose words have checks ``check_bits`` are these.
    """
    shape = memory.shape
    return {
        "purpose": memory.purpose,
        "path": memory.path,
        "module": memory.module or None,
        "depth": shape.depth,
        "width": shape.width,
        "write_ports": shape.writes,
        "read_ports": len(shape.reads),
        "read_latency": int(all(shape.reads)),
        "write_granularity": shape.granule,
        "bits": memory.bits,
        **({"check_bits": memory.check_bits} if memory.checks else {}),
    }


def memory_groups(memories: Sequence[PlacedMemory]) -> list[MemoryGroup]:
    """The memories by their shapes, of which each is one module or one macro; the shape with the most bits first."""
    groups: dict[Shape, list[PlacedMemory]] = {}
    for memory in memories:
        groups.setdefault(memory.shape, []).append(memory)
    found = [MemoryGroup(shape, tuple(group)) for shape, group in groups.items()]
    return sorted(found, key=lambda group: -group.bits)


@dataclass(frozen=True)
class MemoryGroup:
    """The memories of a shape."""

    shape: Shape
    memories: tuple[PlacedMemory, ...]

    @property
    def module(self) -> str:
        """The module that each of them is an instance of, or a word for the shape where there is none."""
        return self.memories[0].module or self.shape.name

    @property
    def bits(self) -> int:
        return sum(memory.bits for memory in self.memories)

    @property
    def purpose(self) -> str:
        """What they are for; what several purposes have in common before a colon is said once."""
        said: dict[str, list[str]] = {}
        for purpose in dict.fromkeys(memory.purpose for memory in self.memories):
            subject, _, rest = purpose.partition(": ")
            said.setdefault(subject, []).extend([rest] if rest else [])
        return "; ".join(
            f"{subject}: {'; '.join(rest)}" if rest else subject for subject, rest in said.items()
        )


def memory_ports(memory: PlacedMemory) -> tuple[str, str]:
    """The number of its ports and the kind of its reads, to read: ``1w1r`` and ``synchronous``."""
    shape = memory.shape
    reads = "synchronous" if all(shape.reads) else "asynchronous"
    return f"{shape.writes}w{len(shape.reads)}r", reads


_RULES = """\
A synchronous port gives a word in the cycle after its address if its enable is high, and keeps it until the next.
An asynchronous one gives it in the same cycle, as register files and look-up tables do. A read of the word that
is written in the same cycle gives the word from before; nothing depends on that where the module's name ends with
_block. What a memory holds needs no reset."""
_TITLES = ("memory", "instance", "module", "words x bits", "ports", "reads", "bits per write enable", "bits")


def memory_document(name: str, memories: Sequence[PlacedMemory]) -> str:
    """A table in Markdown of all memories of the module ``name``."""
    bits, checks = (sum(getattr(memory, of) for memory in memories) for of in ("bits", "check_bits"))
    rows = [
        (
            memory.purpose,
            f"`{memory.path}`",
            f"`{memory.module}`" if memory.module else "",
            f"{memory.shape.depth} x {memory.shape.width}",
            *memory_ports(memory),
            str(memory.shape.granule),
            f"{memory.bits:,}",
            *([f"{memory.check_bits:,}"] if checks else []),
        )
        for memory in memories
    ]
    titles = (*_TITLES, *(["of them checks"] if checks else []))
    told = f" of which {checks:,} are checks," if checks else ""
    head = f"{len(memories)} memories, {bits:,} bits,{told} all at the clock of the design."
    parts = (
        Heading(f"Memories of {name}", 1),
        Paragraph(f"{head}\n{_RULES}"),
        Table(titles, rows, numbers=(3, 6, 7, *([8] if checks else []))),
    )
    return as_markdown(parts)


def memory_table(memories: Sequence[PlacedMemory]) -> Table:
    """Those of one shape in a row."""
    rows = [
        (
            group.purpose,
            f"`{group.module}`",
            f"{group.shape.depth} x {group.shape.width}",
            str(len(group.memories)),
            f"{group.bits:,}",
        )
        for group in memory_groups(memories)
    ]
    return Table(("memories", "module", "words x bits", "how many", "bits"), rows)
