"""Narrows operators to the used bits of their results, which saves unused carries.

In: a prepared module. Out: the same module, without unused upper bits of multiplexers and of operators whose bit k depends
on operand bits 0 to k alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from cdma.hdl.verilog.netlist.model import Module, Signal, cut, width_of

from .expressions import Node, leaf
from .nets import is_named, is_operator, result_ports
from .operators import expression

__all__ = ["narrow"]

_NARROWED = frozenset(
    {"$add", "$sub", "$mul", "$and", "$or", "$xor", "$not", "$neg", "$shl", "$mux", "$pmux"}
)


def narrow(module: Module, modules: Mapping[str, Module]) -> None:
    """Narrows all operators of a module."""
    while _narrow_once(module, modules):
        pass


def _narrow_once(module: Module, modules: Mapping[str, Module]) -> bool:
    """Narrows every operator once; returns whether one has changed, so that another may follow."""
    used: dict[str, int] = {}

    def note(signal: Signal) -> Node:
        for piece in signal:
            used[piece.wire] = max(used.get(piece.wire, 0), piece.low + piece.width)
        return leaf("", width_of(signal))

    for cell in module.cells:
        if is_operator(cell, modules):
            expression(cell, note)
            continue
        for port, signal in cell.ports.items():
            if port not in result_ports(cell, modules):
                note(signal)
    for _, right in module.connects:
        note(right)
    changed = False
    for cell in module.cells:
        if cell.kind not in _NARROWED:
            continue
        wire = cell.ports["\\Y"][0].wire
        width = used.get(wire, 0)
        if is_named(wire) or not 0 < width < module.wires[wire].width:
            continue
        if cell.kind == "$pmux":
            whole, count = module.wires[wire].width, width_of(cell.ports["\\S"])
            parts = [cut(cell.ports["\\B"], index * whole, width) for index in range(count)]
            cell.ports["\\B"] = [piece for part in parts for piece in part]
        if cell.kind in ("$mux", "$pmux"):
            cell.ports["\\A"] = cut(cell.ports["\\A"], 0, width)
        if cell.kind == "$mux":
            cell.ports["\\B"] = cut(cell.ports["\\B"], 0, width)
        module.wires[wire].width = width
        cell.ports["\\Y"] = cut(cell.ports["\\Y"], 0, width)
        changed = True
    return changed
