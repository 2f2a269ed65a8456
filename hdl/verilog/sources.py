"""What the source says of the wires of a design: the comment above each declaration, and places, ``cdma/hdl/file.py:57``.

In: a design of Amaranth. Out: a note for each wire and instance of a module, by their names in RTLIL.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from amaranth.hdl import Format, Fragment, Signal, Value
from amaranth.hdl._ast import Assign, Concat, Operator, Part, Slice, Statement, Switch, SwitchValue
from amaranth.hdl._ir import Design, DesignFragmentInfo

__all__ = ["Note", "source_notes"]

#: The file and the line that Amaranth notes; None where it does not know.
_Location = tuple[str, int] | None

#: Begins the lines of a comment about the declaration below.
_ABOUT = "#:"


class Note(NamedTuple):
    """What the source says of a wire or an instance.

    ``meaning``
        The comment above its declaration.
    ``declared``, ``given``
        The place of its declaration, and those of the statements that it is given a value in.
    """

    meaning: str = ""
    declared: str = ""
    given: str = ""


def source_notes(design: Design, *, lines: bool) -> dict[str, dict[str, Note]]:
    """The notes of each module, of those things that there is something to say of; places only with ``lines``."""
    return {
        f"\\{'.'.join(info.name)}": dict(_notes(design, fragment, info, lines))
        for fragment, info in design.fragments.items()
    }


def _notes(
    design: Design, fragment: Fragment, info: DesignFragmentInfo, lines: bool
) -> Iterator[tuple[str, Note]]:
    given = _Given(fragment) if lines else None
    for signal, name in info.signal_names.items():
        meaning = _comment_above(signal.src_loc)
        if given is None:
            if meaning:
                yield f"\\{name}", Note(meaning)
            continue
        for path, low, high in _fields(signal):
            places = _joined(given.locations(signal, low, high))
            yield f"\\{name}{path}", Note(meaning, _joined([signal.src_loc]), places)
    if given is not None:
        for part, _, location in fragment.subfragments:
            yield f"\\{design.fragments[part].name[-1]}", Note(declared=_joined([location]))


@cache
def _comment_above(location: _Location) -> str:
    """The lines of the comment about the declaration at a location, as one."""
    if location is None:
        return ""
    file, line = location
    comment: list[str] = []
    while (text := linecache.getline(file, line - 1 - len(comment)).strip()).startswith(_ABOUT):
        comment.insert(0, text.removeprefix(_ABOUT).strip())
    return " ".join(comment).replace("``", "")


def _joined(locations: list[_Location]) -> str:
    """Places as one reads them: ``cdma/hdl/axi/reader.py:57, 83; cdma/hdl/blocks/fifo.py:20``."""
    found: dict[str, dict[int, None]] = {}
    for location in locations:
        if location is not None and (file := _generator_file(location[0])):
            found.setdefault(file, {})[location[1]] = None
    return "; ".join(f"{file}:{', '.join(map(str, numbers))}" for file, numbers in found.items())


@cache
def _generator_file(file: str) -> str:
    """The file of a loaded module by the name of the module, which is the same on every machine; none of Amaranth's own."""
    for module in sys.modules.values():
        if getattr(module, "__file__", None) == file and not module.__name__.startswith("amaranth."):
            path = module.__name__.replace(".", "/")
            return f"{path}/__init__.py" if hasattr(module, "__path__") else f"{path}.py"
    return ""


def _fields(signal: Signal) -> Iterator[tuple[str, int, int]]:
    """A signal and its fields: what is behind the name of the signal, and which bits it has."""

    def walk(path: str, form: object) -> Iterator[tuple[str, int, int]]:
        match form:
            case Format.Struct():
                value, fields = form._value, {f".{name}": field for name, field in form._fields.items()}
            case Format.Array():
                value, fields = form._value, {f"[{index}]": field for index, field in enumerate(form._fields)}
            case Format.Enum():
                value, fields = form._value, {}
            case _:
                values = [chunk[0] for chunk in form._chunks if not isinstance(chunk, str)]  # type: ignore[attr-defined]
                value, fields = (values[0] if len(values) == 1 else signal), {}
        for _, low, high in _bits(value):
            yield path, low, high
        for name, field in fields.items():
            yield from walk(f"{path}{name}", field)

    yield from walk("", signal._format)


def _bits(value: Value) -> Iterator[tuple[Signal, int, int]]:
    """The signals in what is assigned to, each with the bits that may be meant."""
    match value:
        case Signal():
            yield value, 0, len(value)
        case Slice():
            inner = list(_bits(value.value))
            if len(inner) == 1:
                [(signal, low, _)] = inner
                inner = [(signal, low + value.start, low + value.stop)]
            yield from inner
        case Concat():
            for part in value.parts:
                yield from _bits(part)
        case Part():
            yield from _bits(value.value)
        case SwitchValue():
            for _, part in value.cases:
                yield from _bits(part)
        case Operator():
            for operand in value.operands:
                yield from _bits(operand)


class _Given:
    """Which statements of a module give a signal its value."""

    def __init__(self, fragment: Fragment) -> None:
        # By the identity of the signal: its bits, the place, and the signal that it is given as it is.
        self._found: dict[int, list[tuple[int, int, _Location, Signal | None]]] = {}
        for statements in fragment.statements.values():
            for statement in statements:
                self._note(statement)

    def _note(self, statement: Statement) -> None:
        match statement:
            case Assign():
                other = statement.rhs if isinstance(statement.rhs, Signal) else None
                for signal, low, high in _bits(statement.lhs):
                    entry = low, high, statement.src_loc, other
                    self._found.setdefault(id(signal), []).append(entry)
            case Switch():
                for _, inner, _ in statement.cases:
                    for each in inner:
                        self._note(each)

    def locations(self, signal: Signal, low: int, high: int) -> list[_Location]:
        """Those of the statements about these bits, also of another signal that they are given as it is."""
        found: dict[_Location, None] = {}
        seen: set[int] = set()

        def visit(signal: Signal, low: int, high: int) -> None:
            seen.add(id(signal))
            for start, stop, location, other in self._found.get(id(signal), ()):
                if start < high and low < stop:
                    found[location] = None
                    if other is not None and id(other) not in seen:
                        visit(other, max(0, low - start), high - start)

        visit(signal, low, high)
        return list(found)
