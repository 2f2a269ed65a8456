"""Phrases of elaboration: ports of an option, registers of a pipelined module, assignments by name, named values."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from amaranth.hdl import Const, Format, Module, Shape, ShapeCastable, Signal, Value, unsigned
from amaranth.lib import wiring

_Member = TypeVar("_Member")


def optional(option: object, **members: _Member) -> dict[str, _Member]:
    """The ``members`` of a signature or layout if it has an ``option``, as in ``{..., **optional(config.crc, crc=In(32))}``.

    They are evaluated without the option, too.
    """
    return members if option else {}


def flags(direction: Callable[[int], wiring.Member], *names: str) -> dict[str, wiring.Member]:
    """Ports of one bit."""
    return {name: direction(1) for name in names}


def copies(sink: Any, source: Any, *names: str) -> list[Any]:
    """Assignments of members of ``source`` to the members of ``sink`` with the same ``names``."""
    return [getattr(sink, name).eq(getattr(source, name)) for name in names]


def sized(*assignments: Any) -> list[Any]:
    """The ``assignments`` to signals and fields that have bits: those of an option may have none."""
    return [assignment for assignment in assignments if len(assignment.lhs)]


def without_reset(m: Module, name: str, sink: Any) -> Any:
    """A register of that ``name`` that drives ``sink`` and has no reset.

    It is for data with a separate valid: to reset so many flip-flops, a net has to cross an FPGA.
    """
    register = Signal.like(sink, name=name, reset_less=True)
    m.d.comb += sink.eq(register)
    return register


class Pace:
    """The registers that a module ``m`` has if it is ``pipelined``, and wires in their place if not.

    ``pipelined``: A flag, or a configuration that has it.
    ``d``: The domain ``m.d.sync`` if pipelined, or else ``m.d.comb``.
    """

    def __init__(self, m: Module, pipelined: Any) -> None:
        self.m = m
        self.pipelined = bool(getattr(pipelined, "pipelined", pipelined))
        self.d = m.d.sync if self.pipelined else m.d.comb

    def late(self, value: Any, name: str, *, reset: bool = False) -> Any:
        """The ``value``; if pipelined a cycle later, from a register of that ``name``."""
        if not self.pipelined:
            return value
        register = Signal.like(value, name=name, reset_less=not reset)
        self.m.d.sync += register.eq(value)
        return register

    def early(self, sink: Any, name: str) -> Any:
        """What drives ``sink`` by assignments in ``d``: itself, or a register of that ``name`` without reset."""
        return without_reset(self.m, name, sink) if self.pipelined else sink


class NamedValues(ShapeCastable):
    """An unsigned number of ``bits``, of which some values have a name in Verilog and waveforms.

    Unlike an enumeration of Amaranth it may have any width and any other value.

    ``name``: Name of the values as a type.
    ``values``: The values: an enumeration, or each with its name.
    """

    def __init__(self, bits: int, name: str, values: type[enum.Enum] | Mapping[int, str]) -> None:
        self.bits = bits
        self.name = name
        self.values = values

    def as_shape(self) -> Shape:
        return unsigned(self.bits)

    def __call__(self, value: Value) -> Value:
        return value

    def const(self, init: int | None) -> Const:
        return Const(init or 0, self.bits)

    def from_bits(self, raw: int) -> int:
        return raw

    def format(self, value: Value, spec: str) -> Format.Enum:
        return Format.Enum(value, self.values, name=self.name)
