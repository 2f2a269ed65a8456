"""From Verilog to a netlist of a library's cells, and what can be counted in it.

The area of each block of a circuit.

In a flattened circuit the logic of one block is merged with that of another. So the circuit is synthesised once more
with the boundaries of its blocks kept, and the cells within each are counted. Nothing is shared or simplified across a
boundary that is kept, so the sum of the blocks is somewhat larger than the flattened circuit; it is reported, too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cdma.base.yosys import Progress, Yosys, find_yosys, scratch
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.paths import Circuit, MeasureError

from .recipe import (
    MEMORY_LEFT_OUT,
    Options,
    abc_constraints,
    abc_script,
    library_gates,
    reset_map,
    yosys_script,
)

__all__ = [
    "CellCount",
    "InstanceCount",
    "Netlist",
    "block_modules",
    "breakdown",
    "synthesise",
    "write_library",
]


@dataclass
class CellCount:
    """Cells by type, and their area in the unit of the library."""

    cells: Counter[str] = field(default_factory=Counter)
    area: float = 0.0
    sequential_area: float = 0.0
    flip_flops: int = 0
    clock_gates: int = 0


@dataclass(frozen=True)
class Netlist:
    """A mapped circuit: the modules of Yosys's JSON netlist, the same as Verilog for a timing analyser, and ABC's delay.

    A flattened circuit has one module. ``wire_load`` is the library's model of wires that gates are sized for, None where
    it has none.
    """

    top: str
    modules: dict[str, Any]
    verilog: str
    memory_bits: int
    abc_delay_ns: float | None
    wire_load: str | None = None

    def count(self, library: Library, module: str | None = None) -> CellCount:
        """Counts the cells of one module, without those of the modules in it."""
        result = CellCount()
        for cell in self.modules[module or self.top]["cells"].values():
            kind = cell["type"]
            known = library.cells.get(kind)
            if known is None:
                if kind in self.modules or kind == MEMORY_LEFT_OUT:
                    continue
                raise MeasureError(
                    f"{library.name} has nothing for {kind.lstrip('$')}: the circuit cannot be mapped"
                )
            result.cells[kind] += 1
            result.area += known.area
            if known.is_sequential:
                result.sequential_area += known.area
            result.flip_flops += known.is_flip_flop
            result.clock_gates += bool(known.clock_gate)
        return result

    def clocks(self, library: Library) -> list[str]:
        """Returns the ports of the top that clock a flip-flop, directly or through a clock gate."""
        module = self.modules[self.top]
        bits = set()
        for cell in module["cells"].values():
            known = library.cells.get(cell["type"])
            if known is None:
                continue
            pins = [known.clock_pin, *(pin.name for pin in known.pins if pin.gating == "clock")]
            bits |= {bit for pin in pins if pin for bit in cell["connections"].get(pin, [])}
        return [
            name
            for name, port in module["ports"].items()
            if port["direction"] == "input" and bits.intersection(port["bits"])
        ]


def write_library(library: Library, folder: Path) -> list[str]:
    """Writes the library's files into ``folder`` and returns their names."""
    names = [f"library{index}.lib" for index in range(len(library.texts))]
    for name, text in zip(names, library.texts, strict=True):
        (folder / name).write_bytes(text)
    return names


_DELAY = re.compile(r"ABC: .*Delay =\s*([\d.]+) ps")
_WIRE_LOAD = re.compile(r'ABC: WireLoad = "(?!none")(.+?)"')


def synthesise(
    circuit: Circuit,
    library: Library,
    options: Options,
    *,
    keep: Sequence[str] = (),
    yosys: Yosys | None = None,
    progress: Progress | None = None,
) -> Netlist:
    """Maps ``circuit`` to ``library``, flattened except for the modules of ``keep``."""
    yosys = yosys or find_yosys()
    with scratch() as folder:
        (folder / "circuit.v").write_text(library_gates(circuit.verilog, library))
        (folder / "abc.script").write_text(abc_script(options.target_ns, timed=library.timed))
        (folder / "abc.constraints").write_text(abc_constraints(library))
        (folder / "resets.v").write_text(reset_map())
        names = write_library(library, folder)
        log = yosys.run(yosys_script(circuit.top, library, names, options, keep), folder, progress)
        netlist = json.loads((folder / "netlist.json").read_text())
        memories = json.loads((folder / "memories.json").read_text())
        verilog = (folder / "netlist.v").read_text()
    delays = [float(delay) / 1000 for delay in _DELAY.findall(log)]
    wires = _WIRE_LOAD.search(log)
    return Netlist(
        circuit.top,
        netlist["modules"],
        verilog,
        _memory_bits(memories),
        max(delays, default=None),
        wires[1] if wires else None,
    )


def _memory_bits(modules: dict[str, Any]) -> int:
    return sum(
        int(cell["parameters"]["SIZE"], 2) * int(cell["parameters"]["WIDTH"], 2)
        for module in modules["modules"].values()
        for cell in module["cells"].values()
        if cell["type"] == "$mem_v2"
    )


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
