"""Elaborates a shell to RTLIL with Amaranth, each expression of a module once, and notes where the source made each wire.

Amaranth writes an expression again for each statement that uses it, and every bit of a memory. Yosys merges equal ones,
but every step up to there then takes longer. So equal expressions are joined before RTLIL is written, a variable of the
source gets a wire with its name, and a memory of zeros has no initial words; :func:`.fill_memories` writes them.
Python's garbage collector rests meanwhile.

A note has the comment above a declaration, and its place, ``cdma/hdl/file.py:57``, by the name in RTLIL.
"""

from __future__ import annotations

import atexit
import gc
import linecache
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import NamedTuple

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Format, Fragment, Signal, Value
from amaranth.hdl._ast import (
    Assign,
    Concat,
    Const,
    Operator,
    Part,
    SignalDict,
    Slice,
    Statement,
    Switch,
    SwitchValue,
)
from amaranth.hdl._ir import Design, DesignFragmentInfo, PortDirection
from amaranth.hdl._xfrm import DomainLowerer
from amaranth.lib.wiring import Component

from .names import variable_of
from .netlist.model import VALUE, called
from .shell import Shell

#: The allocations after a design before the next collection.
_LATER = 100_000

# At exit, a collection of the last design would take longer than its Verilog did.
atexit.register(gc.freeze)


@contextmanager
def no_collection() -> Iterator[None]:
    """Pauses garbage collection, and delays it after: a design is millions of small objects, all alive until its text is
    written."""
    was_enabled = gc.isenabled()
    if was_enabled and gc.get_count()[0] > _LATER:
        gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.set_threshold(gc.get_count()[0] + _LATER, *gc.get_threshold()[1:])
            gc.enable()


#: Begins the attributes with the names of values; in RTLIL a backslash comes before it.
_VALUE = VALUE.removeprefix("\\")


class Elaborated(NamedTuple):
    """The RTLIL of a design, and by the names there the objects that each module was made of, and what its source notes."""

    text: str
    origins: dict[str, Sequence[object]]
    notes: dict[str, dict[str, Note]]


def elaborate(shell: Shell, name: str, *, source_lines: bool = False) -> Elaborated:
    """The design of ``shell``, whose top is called ``name``; with ``source_lines`` its notes have places."""
    fragment = Fragment.get(shell, None)
    # What ``Fragment.prepare`` does, with another transformer.
    fragment._propagate_domains(ClockDomain)
    directions = {"input": PortDirection.Input, "output": PortDirection.Output}
    ports = [(port.name, shell.port(port.name), directions[port.direction]) for port in shell.ports()]
    design = _Design(_Sharing()(fragment), ports, hierarchy=(name,))
    for info in design.fragments.values():
        for signal in info.signal_names:
            _name_states(signal)
    text, _ = rtlil.convert_fragment(design, name=name, emit_src=False)
    origins = {
        f"\\{'.'.join(info.name)}": fragment.origins
        for fragment, info in design.fragments.items()
        if fragment.origins
    }
    return Elaborated(text, origins, source_notes(design, lines=source_lines))


def _name_states(signal: Signal) -> None:
    """Says of the signal of a state machine what its states are called, as Amaranth says it of enumerations."""
    if callable(signal.decoder):
        for number in range(1 << len(signal)):
            with suppress(KeyError):
                # The number follows the name.
                name = signal.decoder(number).rpartition("/")[0]
                signal.attrs[f"{_VALUE}{number:0{len(signal)}b}"] = name


class _Design(Design):
    """A design in which the members of a component have their own names in its module, whatever it connects them to."""

    def _assign_names(self, fragment: Fragment, hierarchy: tuple[str, ...]) -> None:
        info = self.fragments[fragment]
        used = info.used_signals
        own = [signal for signal in _members(fragment) if signal in used]
        info.used_signals = SignalDict((signal, used[signal]) for signal in (*own, *used))
        super()._assign_names(fragment, hierarchy)


def _members(fragment: Fragment) -> Iterator[Signal]:
    """The signals that are members of the component that a module is made of."""
    for origin in fragment.origins or ():
        if isinstance(origin, Component):
            for _, _, value in origin.signature.flatten(origin):
                signal = Value.cast(value)
                if isinstance(signal, Signal):
                    yield signal


class _Sharing(DomainLowerer):
    """Puts one object in place of equal expressions of a module: Amaranth calculates an object once."""

    def __init__(self) -> None:
        super().__init__()
        self._forget()

    def _forget(self) -> None:
        # What stands for each value of the design, by its identity, and each new value by what it consists of.
        self._done: dict[int, Value] = {}
        self._made: dict[tuple[object, ...], Value] = {}
        # The places of the values that are being replaced, from the outermost on, and the results by their variables.
        self._places: list[object] = []
        self._called: dict[str, dict[int, Value]] = {}

    def map_statements(self, fragment: Fragment, new_fragment: Fragment) -> None:
        self._forget()
        super().map_statements(fragment, new_fragment)
        for name, values in self._called.items():
            for number, value in enumerate(values.values()):
                wire = Signal(value.shape(), name=called(name if len(values) == 1 else f"{name}_{number}"))
                new_fragment.add_statements("comb", wire.eq(value))

    def map_memory_ports(self, fragment: Fragment, new_fragment: Fragment) -> None:
        self._forget()
        super().map_memory_ports(fragment, new_fragment)
        words = fragment._data._init._raw
        if not any(words):
            words.clear()

    def on_value(self, value: Value) -> Value:
        if isinstance(value, Signal):
            return value
        if id(value) not in self._done:
            place = value.src_loc
            self._places.append(place)
            new = super().on_value(value)
            self._places.pop()
            new = self._done[id(value)] = self._made.setdefault(_contents(new), new)
            # A part of an expression has the place of all of it.
            if place not in self._places and (name := variable_of(value)):
                self._called.setdefault(name, {})[id(new)] = new
        return self._done[id(value)]


def _contents(value: Value) -> tuple[object, ...]:
    """What a value consists of, whose parts are shared already."""
    match value:
        case Const():
            return Const, value.value, len(value), value.shape().signed
        case Slice():
            return Slice, id(value.value), value.start, value.stop
        case Operator():
            return value.operator, *map(id, value.operands)
        case Concat():
            return Concat, *map(id, value.parts)
        case Part():
            return Part, id(value.value), id(value.offset), value.width, value.stride
        case SwitchValue():
            return id(value.test), *((patterns, id(part)) for patterns, part in value.cases)
        case _:
            return (id(value),)


#: The file and the line that Amaranth notes; None where it does not know.
_Location = tuple[str, int] | None

#: Begins the lines of a comment about the declaration below.
_ABOUT = "#:"


class Note(NamedTuple):
    """What the source has about a wire or an instance: the comment above its declaration, its place, and those of
    assignments."""

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
    """The statements of a module that assign a signal."""

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
        """Those about these bits, also of another signal that is assigned from them whole."""
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
