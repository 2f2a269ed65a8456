"""Cells of a library and their pins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .expressions import truth_table

__all__ = ["Cell", "Pin"]


@dataclass(frozen=True)
class Pin:
    """A pin.

    ``capacitance`` is in the unit of the library. ``function`` is Liberty's expression, or empty. ``gating`` is the
    part of the pin in a clock gate: ``clock``, ``enable``, ``test``, ``out`` or empty.
    """

    name: str
    direction: str
    capacitance: float
    function: str
    timed: bool
    gating: str


@dataclass(frozen=True)
class Cell:
    """A cell.

    ``area`` is in the unit of the library, for nearly all libraries µm². ``groups`` are the kinds of the groups that
    it contains. ``clock_pin`` is the clock of a flip-flop, and ``clock_gate`` Liberty's name for a sort of clock gate;
    both are empty for other cells. A ``plain`` flip-flop loads the value of one pin, without an enable or a scan
    input before it.
    """

    name: str
    area: float
    pins: tuple[Pin, ...]
    groups: frozenset[str]
    clock_pin: str
    plain: bool
    clock_gate: str
    dont_use: bool

    @property
    def inputs(self) -> list[Pin]:
        return [pin for pin in self.pins if pin.direction == "input"]

    @property
    def outputs(self) -> list[Pin]:
        return [pin for pin in self.pins if pin.direction == "output"]

    @property
    def is_flip_flop(self) -> bool:
        return "ff" in self.groups

    @property
    def is_sequential(self) -> bool:
        return bool(self.groups & {"ff", "ff_bank", "latch", "latch_bank", "statetable"}) or bool(
            self.clock_gate
        )

    @cached_property
    def truth_table(self) -> tuple[bool, ...] | None:
        """The output for every input, the first input changing fastest; None unless the cell is a gate with one output."""
        if self.is_sequential or len(self.outputs) != 1 or not 1 <= len(self.inputs) <= 6:
            return None
        names = [pin.name for pin in self.inputs]
        return truth_table(self.outputs[0].function, names)
