"""Names of values for nets without a name, on their way to registers that have such names.

In: a prepared module. Out: the same module, in which a nameless net that is chosen for such a register alone has the names
of its values as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdma.hdl.verilog.netlist.model import Cell, Module

from .nets import REGISTERS, is_named, result_ports

__all__ = ["inherit_values"]

#: The inputs that come out as they are, by the kind of cell.
_PASSED = {"$mux": ("\\A", "\\B"), "$pmux": ("\\A", "\\B"), **dict.fromkeys(REGISTERS, ("\\D",))}


def inherit_values(module: Module, modules: Mapping[str, Module]) -> None:
    """Names the values of such nets."""
    if not any(wire.values for wire in module.wires.values()):
        return
    # What each wire becomes; None for another use.
    becomes: dict[str, set[str | None]] = {}
    for cell in module.cells:
        for wire, target in _passed(module, cell, modules):
            becomes.setdefault(wire, set()).add(target)
    for left, right in module.connects:
        for piece in right:
            whole = module.whole_wire(right) == piece.wire and module.whole_wire(left)
            becomes.setdefault(piece.wire, set()).add(whole or None)
    found: dict[str, str | None] = {}

    def source(wire: str | None) -> str | None:
        """The wire whose names a wire has."""
        if wire is None or module.wires[wire].values:
            return wire
        if wire not in found:
            found[wire] = None
            sources = {source(target) for target in becomes.get(wire, {None})}
            if not is_named(wire) and len(sources) == 1:
                (found[wire],) = sources
        return found[wire]

    for name, own in module.wires.items():
        origin = source(name)
        if origin is not None and origin != name and not own.values:
            own.enumeration = module.wires[origin].enumeration or origin[1:]
            own.values = module.wires[origin].values


def _passed(module: Module, cell: Cell, modules: Mapping[str, Module]) -> Iterator[tuple[str, str | None]]:
    """The wires that a cell reads, each with the one that it becomes if it is passed on whole."""
    results = result_ports(cell, modules)
    for port, signal in cell.ports.items():
        if port in results:
            continue
        target = module.whole_wire(cell.ports[results[0]]) if port in _PASSED.get(cell.kind, ()) else None
        for piece in signal:
            if piece.bits is None:
                is_whole = target is not None and module.wires[target].width == piece.width
                yield piece.wire, target if is_whole and module.whole_wire([piece]) else None
