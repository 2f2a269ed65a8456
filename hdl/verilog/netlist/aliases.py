"""Drops wires that say nothing of their own.

In: a module in which several names stand for one wire, and wires may have no bits. Out: the module without the
names and wires asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .model import Module

__all__ = ["drop_aliases", "drop_empty"]


def drop_empty(module: Module) -> None:
    """Drops wires and ports without bits, which Verilog does not have."""
    module.wires = {name: wire for name, wire in module.wires.items() if wire.width}
    for cell in module.cells:
        if not cell.kind.startswith("$"):
            cell.ports = {port: signal for port, signal in cell.ports.items() if signal}


def drop_aliases(module: Module, is_alias: Callable[[str], bool]) -> None:
    """Drops public wires that only are another name of a whole public wire, where ``is_alias`` holds for the name.

    Amaranth refers to such a wire in no other place.
    """
    dropped: set[str] = set()
    for left, right in module.connects:
        name, other = module.whole_wire(left), module.whole_wire(right)
        if name is None or other is None or not other.startswith("\\"):
            continue
        if is_alias(name) and module.wires[name].direction is None:
            dropped.add(name)

    def is_dropped(name: str) -> bool:
        # The fields of a structure are dropped with it.
        return name in dropped or re.split(r"[.[]", name, maxsplit=1)[0] in dropped

    module.connects = [(left, right) for left, right in module.connects if not is_dropped(left[0].wire)]
    module.wires = {name: wire for name, wire in module.wires.items() if not is_dropped(name)}
