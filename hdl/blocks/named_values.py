"""The shape of a number whose values have names."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from amaranth.hdl import Const, Format, Shape, ShapeCastable, Value, unsigned

__all__ = ["NamedValues"]


class NamedValues(ShapeCastable):
    """An unsigned number of ``bits``, of which some values are called as the Verilog and waveforms show them.

    Unlike an enumeration of Amaranth it may have any width and any other value.

    ``name``
        What the values are called together.
    ``values``
        The values: an enumeration, or each with its name.
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
