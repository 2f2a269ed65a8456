"""Finds the names that modules, wires, cells and memories get in the Verilog.

In: modules whose names have dots, brackets and serial numbers of Amaranth's. Out: for each old name a legal one; a
wire between submodules is called after the instance and the port that drive it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from cdma.hdl.verilog.names import legal_name

from .model import Module

__all__ = ["module_names", "names_within"]


def module_names(modules: Iterable[str], top: str, prefix: str) -> dict[str, str]:
    """The name of each module: ``top`` keeps its own, the names of the others start with ``prefix``."""
    names = {top: top[1:]}
    # A prefix may end in underscores, and the top may be called like a submodule.
    used = {top[1 + len(prefix) :]} if top[1:].startswith(prefix) else set()
    for module in modules:
        if module != top:
            path = legal_name(module[len(top) + 1 :], used)
            used.add(path)
            names[module] = f"{prefix}{path}"
    return names


def names_within(module: Module, modules: Mapping[str, Module]) -> dict[str, str]:
    """The names of everything public in a module; ports come first, so that they keep theirs."""
    used: set[str] = set()
    names: dict[str, str] = {}

    def add(name: str, wanted: str) -> None:
        if name.startswith("\\") and name not in names:
            names[name] = legal_name(wanted, used)
            used.add(names[name])

    for name, wire in module.wires.items():
        if wire.direction:
            add(name, _plain(name))
    for cell in module.cells:
        add(cell.name, cell.name[1:])
    for memory in module.memories:
        add(memory.name, memory.name[1:])
    for name, wanted in _driven(module, modules).items():
        add(name, wanted)
    for name in module.wires:
        add(name, _plain(name))
    return names


def _plain(name: str) -> str:
    """What a wire is to be called, before it is made legal: without serial numbers, and for the fields of a
    stream's payload without the word payload."""
    return re.sub(r"\$\d+", "", name[1:]).replace("__payload.", "_")


def _driven(module: Module, modules: Mapping[str, Module]) -> dict[str, str]:
    """Wires that are nothing but an output of a submodule: what they are to be called."""
    result: dict[str, str] = {}
    for cell in module.cells:
        if cell.kind not in modules:
            continue
        for port, signal in cell.ports.items():
            wire = module.whole_wire(signal)
            if (
                wire is not None
                and modules[cell.kind].wires[port].direction == "output"
                and module.wires[wire].direction is None
            ):
                result[wire] = f"{cell.name[1:]}_{_plain(port)}"
    return result
