"""RTLIL of a shell, by Amaranth.

In: a shell. Out: its design, in which a module calculates an expression once, however many statements have it. A wire with
a name for it stands beside what the source has a variable for. A memory of zeros has no initial words;
:func:`.fill_memories` writes them.

Amaranth alone writes an expression again for each statement, and every bit of a memory. Yosys merges what is equal, but
then everything up to there has taken as much longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Fragment, Signal, Value
from amaranth.hdl._ast import Concat, Const, Operator, Part, SignalDict, Slice, SwitchValue
from amaranth.hdl._ir import Design, PortDirection
from amaranth.hdl._xfrm import DomainLowerer
from amaranth.lib.wiring import Component

from .netlist.model import VALUE, called
from .shell import Shell
from .sources import Note, source_notes
from .variables import variable_of

__all__ = ["Elaborated", "elaborate"]

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
