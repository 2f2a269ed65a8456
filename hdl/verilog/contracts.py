"""What is written above each module of the Verilog: its contract, from the docstring of the class, and where it is from.

Of the entries of a docstring those stay that are about ports: the others are about choices that have been made.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence

from amaranth.lib.wiring import Component

from .printer.layout import LINE

__all__ = ["contract"]

#: A name in a docstring, with a role of the documentation or without.
_NAME = re.compile(r"(?::\w+:)?`+(?:~[\w.]*\.)?([^`]+)`+")
#: The line that begins an entry, with the names that it is about; what is said of them is indented.
_ENTRY = re.compile(r"``\w+``(?:, ``\w+``)*$")
_BEFORE_ENTRY = re.compile(rf"\n\n|\n(?={_ENTRY.pattern[:-1]}\n )")


def contract(origins: Sequence[object]) -> list[str]:
    """The lines of a comment about what a module was made of, the outermost first; none without a class of ours."""
    # A reset, a clock domain or what has elaborated it may have been put around it.
    ours = (each for each in origins if type(each).__module__.startswith("cdma."))
    origin = next((each for each in ours if not type(each).__name__.startswith("_")), None)
    if origin is None:
        return []
    kind = type(origin)
    ports = set(origin.signature.members) if isinstance(origin, Component) else set()
    source = f"Source: {kind.__module__.replace('.', '/')}.py, {kind.__name__}"
    lines = [line for part in _parts(inspect.getdoc(kind) or "", ports) for line in [*part, ""]]
    return [f"// {line}".rstrip() for line in [*lines, source]]


def _parts(text: str, ports: set[str]) -> Iterator[list[str]]:
    """The paragraphs, and the entries about ports that stand together, each as lines."""
    entries: list[str] = []
    for paragraph in _BEFORE_ENTRY.split(text):
        first, _, rest = paragraph.partition("\n")
        if not _ENTRY.match(first):
            if entries:
                yield entries
            entries = []
            yield _filled(paragraph)
        elif ports.intersection(re.findall(r"\w+", first)):
            entries += [_plain(first), *_filled(textwrap.dedent(rest), "  ")]
    if entries:
        yield entries


def _filled(text: str, indent: str = "") -> list[str]:
    width = LINE - len("// ")
    return textwrap.wrap(
        _plain(text), width, initial_indent=indent, subsequent_indent=indent, break_long_words=False
    )


def _plain(text: str) -> str:
    return _NAME.sub(r"\1", text)
