"""Registers grouped by clock, reset and enable: each group is one always block.

In: the registers of a module. Out: groups, in the order of the registers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cdma.hdl.verilog.netlist.model import Cell, Module, Signal, Slice

from .nets import REGISTERS

__all__ = ["Group", "Register", "groups_of"]


@dataclass(frozen=True)
class Register:
    """A clocked assignment of ``value`` to ``target``; in reset of the bits ``at_reset``."""

    target: Slice
    value: Signal
    at_reset: str


@dataclass
class Group:
    """Registers with the same clock, reset and enable.

    ``reset``, ``enable``
        One bit each, or none.
    ``reset_low``, ``enable_low``
        Whether they are active low.
    ``reset_first``
        Whether the reset has priority over the enable.
    """

    clock: Signal
    reset: Signal
    enable: Signal
    reset_low: bool
    enable_low: bool
    reset_first: bool
    registers: list[Register] = field(default_factory=list)


def groups_of(module: Module) -> list[Group]:
    """The registers of a module in their groups."""
    groups: dict[tuple[object, ...], Group] = {}
    for cell in module.cells:
        if cell.kind in REGISTERS:
            group = _controls(cell)
            key = (
                tuple(group.clock),
                tuple(group.reset),
                tuple(group.enable),
                group.reset_low,
                group.enable_low,
                group.reset_first,
            )
            register = Register(
                cell.ports["\\Q"][0],
                cell.ports["\\D"],
                cell.parameter_bits("\\SRST_VALUE") if group.reset else "",
            )
            groups.setdefault(key, group).registers.append(register)
    return list(groups.values())


def _controls(cell: Cell) -> Group:
    def low(port: str) -> bool:
        return cell.parameters.get(f"{port}_POLARITY", "1").endswith("0")

    assert not low("\\CLK"), cell
    return Group(
        cell.ports["\\CLK"],
        cell.ports.get("\\SRST", []),
        cell.ports.get("\\EN", []),
        low("\\SRST"),
        low("\\EN"),
        cell.kind != "$sdffce",
    )
