"""The area of each block of a circuit.

In a flattened circuit the logic of one block is merged with that of another. So the circuit is synthesised once more
with the boundaries of its blocks kept, and the cells within each are counted. Nothing is shared or simplified across a
boundary that is kept, so the sum of the blocks is somewhat larger than the flattened circuit; it is reported, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cdma.base.yosys import Progress, Yosys
from cdma.synth.asic.library.library import Library
from cdma.synth.circuits import Circuit

from .netlist import CellCount, Netlist, synthesise
from .recipe import Options

__all__ = ["InstanceCount", "block_modules", "breakdown"]


@dataclass(frozen=True)
class InstanceCount:
    """The content of one instance; ``path`` is empty for the top."""

    path: tuple[str, ...]
    count: CellCount


def breakdown(
    circuit: Circuit,
    library: Library,
    options: Options,
    *,
    depth: int,
    yosys: Yosys,
    progress: Progress | None,
) -> list[InstanceCount]:
    """Counts the blocks of ``circuit`` down to ``depth`` levels of instances, in the order of their paths."""
    keep = block_modules(circuit, yosys, depth)
    netlist = synthesise(circuit, library, options, keep=keep, yosys=yosys, progress=progress)
    return [InstanceCount(path, netlist.count(library, module)) for path, module in _instances(netlist)]


def _instances(netlist: Netlist) -> Iterator[tuple[tuple[str, ...], str]]:
    def walk(path: tuple[str, ...], module: str) -> Iterator[tuple[tuple[str, ...], str]]:
        yield path, module
        for name, cell in sorted(netlist.modules[module]["cells"].items()):
            if cell["type"] in netlist.modules:
                yield from walk((*path, name), cell["type"])

    return walk((), netlist.top)


def block_modules(circuit: Circuit, yosys: Yosys, depth: int) -> list[str]:
    """Returns the modules down to ``depth`` levels below the top; deeper ones count as parts of them."""
    modules = yosys.modules(f"hierarchy -check -top {circuit.top}\nproc", circuit.verilog)
    found: dict[str, None] = {}
    level = [circuit.top]
    for _ in range(depth):
        level = [
            cell["type"]
            for module in level
            for cell in modules[module]["cells"].values()
            if cell["type"] in modules
        ]
        found |= dict.fromkeys(level)
    return list(found)
