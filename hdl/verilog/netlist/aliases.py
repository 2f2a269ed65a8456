"""Drops aliases of wires, and wires of width 0.

In: a parsed module. Out: the module without them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .model import Module

__all__ = ["drop_aliases", "drop_empty"]


def drop_empty(module: Module) -> None:
    """Drops wires and ports of width 0, which Verilog does not have."""
    module.wires = {name: wire for name, wire in module.wires.items() if wire.width}
    for cell in module.cells:
        if not cell.kind.startswith("$"):
            cell.ports = {port: signal for port, signal in cell.ports.items() if signal}


def drop_aliases(module: Module, is_alias: Callable[[str], bool]) -> None:
    """Drops public wires that alias a whole public wire, where ``is_alias`` holds for the name.

    Nothing else in the module may refer to such a wire.
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
