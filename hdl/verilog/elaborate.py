"""RTLIL of a shell, by Amaranth.

In: a shell. Out: its design, in which a module calculates an expression once, however many statements have it.
A memory of zeros has no initial words; :func:`.fill_memories` writes them.

Amaranth alone writes an expression again for each statement, and every bit of a memory. Yosys merges what is equal, but
then everything up to there has taken as much longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Fragment, Signal, Value
from amaranth.hdl._ast import Concat, Const, Operator, Part, Slice, SwitchValue
from amaranth.hdl._ir import Design, PortDirection
from amaranth.hdl._xfrm import DomainLowerer

from .netlist.model import VALUE
from .shell import Shell
from .sources import Note, source_notes

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
    design = Design(_Sharing()(fragment), ports, hierarchy=(name,))
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


class _Sharing(DomainLowerer):
    """Puts one object in place of equal expressions of a module: Amaranth calculates an object once."""

    def __init__(self) -> None:
        super().__init__()
        self._forget()

    def _forget(self) -> None:
        # What stands for each value of the design, by its identity, and each new value by what it consists of.
        self._done: dict[int, Value] = {}
        self._made: dict[tuple[object, ...], Value] = {}

    def map_statements(self, fragment: Fragment, new_fragment: Fragment) -> None:
        self._forget()
        super().map_statements(fragment, new_fragment)

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
            new = super().on_value(value)
            self._done[id(value)] = self._made.setdefault(_contents(new), new)
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
