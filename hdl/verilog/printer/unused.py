"""Removes dead logic: ports, operators, registers and memories that reach no output of the design.

In: prepared modules. Out: the same modules without dead logic. Yosys removes it within a module, but an unused port of a
submodule keeps it alive there.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace

from cdma.hdl.verilog.netlist.model import Cell, Module, Signal, Wire

from .nets import result_ports

__all__ = ["drop_unused"]


def drop_unused(modules: dict[str, Module], top: str) -> None:
    """Removes all logic that no output of the module ``top`` depends on."""
    live = _live(modules, top)
    before = {name: module.wires for name, module in modules.items()}
    live[top] |= {wire for wire, shape in modules[top].wires.items() if shape.direction}
    for name, module in modules.items():
        module.cells = [cell for cell in module.cells if _results(cell, modules) & live[name]]
        module.connects = [(left, right) for left, right in module.connects if left[0].wire in live[name]]
    # Not before, because what a cell gives is told by the ports of its module.
    for name, module in modules.items():
        module.wires = {wire: shape for wire, shape in module.wires.items() if wire in live[name]}
    for name, module in list(modules.items()):
        if name != top and not live[name]:
            del modules[name]
            continue
        for cell in module.cells:
            if cell.kind in modules:
                ports = modules[cell.kind].wires
                cell.ports = {
                    port: signal if _is_read(port, signal, ports, live[name]) else []
                    for port, signal in cell.ports.items()
                    if port in ports and ports[port].direction
                }
            # A result of which a part is read is connected as a whole.
            for wire in _results(cell, modules):
                module.wires.setdefault(wire, replace(before[name][wire], direction=None))


def _is_read(port: str, signal: Signal, ports: Mapping[str, Wire], live: Container[str]) -> bool:
    """Whether a port is an input or a used output; each instance of a module may use others."""
    return ports[port].direction == "input" or any(piece.wire in live for piece in signal)


def _results(cell: Cell, modules: Mapping[str, Module]) -> set[str]:
    return {piece.wire for port in result_ports(cell, modules) for piece in cell.ports[port]}


def _live(modules: Mapping[str, Module], top: str) -> dict[str, set[str]]:
    """The live wires of each module: an output of the design depends on them."""
    drivers: dict[str, dict[str, list[tuple[Cell, str]]]] = {name: {} for name in modules}
    sources: dict[str, dict[str, list[str]]] = {name: {} for name in modules}
    parents: dict[str, list[tuple[str, Cell]]] = {name: [] for name in modules}
    for name, module in modules.items():
        for cell in module.cells:
            if cell.kind in modules:
                parents[cell.kind].append((name, cell))
            for port in result_ports(cell, modules):
                for piece in cell.ports[port]:
                    drivers[name].setdefault(piece.wire, []).append((cell, port))
        for left, right in module.connects:
            wires = [piece.wire for piece in right if piece.bits is None]
            sources[name].setdefault(left[0].wire, []).extend(wires)
    live: dict[str, set[str]] = {name: set() for name in modules}
    waiting: list[tuple[str, str]] = []

    def mark(name: str, wire: str) -> None:
        if wire not in live[name]:
            live[name].add(wire)
            waiting.append((name, wire))

    for wire, shape in modules[top].wires.items():
        if shape.direction == "output":
            mark(top, wire)
    while waiting:
        name, wire = waiting.pop()
        for source in sources[name].get(wire, []):
            mark(name, source)
        for cell, port in drivers[name].get(wire, []):
            if cell.kind in modules:
                mark(cell.kind, port)
                continue
            for other, signal in cell.ports.items():
                if other not in result_ports(cell, modules):
                    for piece in signal:
                        if piece.bits is None:
                            mark(name, piece.wire)
        if modules[name].wires[wire].direction == "input":
            for parent, cell in parents[name]:
                for piece in cell.ports[wire]:
                    if piece.bits is None:
                        mark(parent, piece.wire)
    return live
