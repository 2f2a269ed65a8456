"""Writes or removes initial values.

In: a module, in which a memory of zeros has no initial words. Out: the same module, with these words, or without initial
values of registers and memories.
"""

from __future__ import annotations

from cdma.base.errors import CdmaError

from .model import Module, constant

__all__ = ["drop_initial_values", "fill_memories"]


def fill_memories(module: Module) -> None:
    """Writes the words of memories of zeros."""
    for cell in module.cells:
        if cell.kind == "$meminit_v2" and not cell.ports["\\DATA"]:
            bits = int(cell.parameters["\\WIDTH"]) * int(cell.parameters["\\WORDS"])
            cell.ports["\\DATA"] = [constant("0" * bits)]


def drop_initial_values(module: Module) -> None:
    """Removes the initial values; refuses a read-only memory, which needs its contents."""
    written = {cell.parameters["\\MEMID"] for cell in module.cells if cell.kind == "$memwr_v2"}
    for cell in module.cells:
        if cell.kind == "$meminit_v2" and cell.parameters["\\MEMID"] not in written:
            raise CdmaError(
                f"module {module.name[1:]} has a memory that is only read; it needs its initial values"
            )
    module.cells = [cell for cell in module.cells if cell.kind != "$meminit_v2"]
    for wire in module.wires.values():
        wire.init = None
