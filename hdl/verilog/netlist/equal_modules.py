"""Merges equal modules.

In: the modules of a design, one for each instance, as Amaranth writes them. Out: the same design, with one module for all
instances of equal ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from .model import Module

__all__ = ["inside_out", "merge_equal"]

#: A port without a name counts on its own: it has the number of a cell of the whole design.
_SERIAL = re.compile(r"((?:port)?\$)\d+")


def merge_equal(modules: dict[str, Module]) -> dict[str, list[str]]:
    """Removes every duplicate of an earlier module; returns the names of the merged modules for each that stays."""
    kept: dict[str, _Numbered] = {}
    # The module that replaces each one, and its ports by their old names.
    stays: dict[str, tuple[str, dict[str, str]]] = {}
    sizes = Counter(map(_size, modules.values()))
    # A submodule comes before the modules that it stands in, because those are equal only if it is.
    for name in inside_out(modules):
        module = modules[name]
        for cell in module.cells:
            if cell.kind in stays:
                cell.kind, ports = stays[cell.kind]
                cell.ports = {ports[port]: signal for port, signal in cell.ports.items()}
        if sizes[_size(module)] == 1:
            continue
        numbered = _Numbered(module)
        other = kept.setdefault(numbered.text, numbered)
        stays[name] = other.module.name, {wire: other.wires[own] for own, wire in numbered.wires.items()}
    merged: dict[str, list[str]] = {}
    for name in list(modules):
        stay, _ = stays.get(name, (name, {}))
        merged.setdefault(stay, []).append(name)
        if stay != name:
            del modules[name]
    return merged


def _size(module: Module) -> tuple[int, ...]:
    """What is the same in equal modules, and told at once."""
    return len(module.wires), len(module.cells), len(module.connects), len(module.processes)


class _Numbered:
    """A module without Amaranth's serial numbers, which run through the whole design.

    ``text``
        Its contents: two modules share it if they differ in serial numbers and the order of their wires alone.
    ``wires``
        Its wires, by their name with a number of the module's own.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self._serials: dict[str, str] = {}
        # The ports of submodules have the names that they keep.
        rows = [" ".join((cell.kind, *cell.ports)) for cell in module.cells]
        contents = [
            (cell.name, cell.parameters, cell.attributes, [*cell.ports.values()]) for cell in module.cells
        ]
        rows.append(self._renumbered(repr((contents, module.memories, module.processes))))
        # The order of these two follows from what is around the module.
        rows += map(self._renumbered, sorted(map(repr, module.connects), key=_unnumbered))
        self.wires = {self._renumbered(name): name for name in sorted(module.wires, key=_unnumbered)}
        rows += (f"{own} {module.wires[name]}" for own, name in self.wires.items())
        self.text = "\n".join(rows)

    def _renumbered(self, text: str) -> str:
        return _SERIAL.sub(
            lambda match: self._serials.setdefault(match[0], f"{match[1]}{len(self._serials)}"), text
        )


def _unnumbered(text: str) -> str:
    return _SERIAL.sub("$", text)


def inside_out(modules: Mapping[str, Module]) -> list[str]:
    """All modules in topological order: submodules come first."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        for cell in modules[name].cells:
            if cell.kind in modules and cell.kind not in order:
                visit(cell.kind)
        order[name] = None

    for name in modules:
        if name not in order:
            visit(name)
    return list(order)
