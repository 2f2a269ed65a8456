"""Elaborates a shell to RTLIL with Amaranth, each expression of a module once, and notes what the source says of signals.

Amaranth writes an expression again for each statement that uses it, and every bit of a memory. Yosys merges equal ones,
but every step up to there then takes longer. So equal expressions are joined before RTLIL is written, a variable of the
source gets a wire with its name, and a memory of zeros has no initial words; :func:`.fill_memories` writes them.
Python's garbage collector rests meanwhile.

A note is the comment above a declaration, by the name in RTLIL.
"""

from __future__ import annotations

import atexit
import gc
import linecache
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import NamedTuple

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Fragment, Signal, Value
from amaranth.hdl._ast import (
    Concat,
    Const,
    Operator,
    Part,
    SignalDict,
    Slice,
    SwitchValue,
)
from amaranth.hdl._ir import Design, PortDirection
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
    notes: dict[str, dict[str, str]]


def elaborate(shell: Shell, name: str) -> Elaborated:
    """The design of ``shell``, whose top is called ``name``."""
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
    return Elaborated(text, origins, source_notes(design))


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


def source_notes(design: Design) -> dict[str, dict[str, str]]:
    """Of each module the comments above the declarations of its signals."""
    return {
        f"\\{'.'.join(info.name)}": {
            f"\\{name}": meaning
            for signal, name in info.signal_names.items()
            if (meaning := _comment_above(signal.src_loc))
        }
        for info in design.fragments.values()
    }


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
