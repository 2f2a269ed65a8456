"""From Verilog to a netlist of a library's cells: what is counted in it, and what it must not have.

A chip that is timed and tested has no latches, combinational loops or tri-states, no clock or asynchronous reset that
its ports do not control, and no path between clocks without a cell for it.

For the area of each block the circuit is synthesised once more with the boundaries of its blocks kept. Nothing is
shared or simplified across these, so the sum of the blocks is somewhat larger than the flattened circuit; it is
reported, too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from cdma.base.cache import Cache, content_key
from cdma.base.yosys import Progress, Yosys, find_yosys, scratch
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.paths import Circuit, MeasureError

from .paths import GATES, drivers_of, wrong_crossings
from .recipe import (
    MEMORY_LEFT_OUT,
    Options,
    abc_constraints,
    abc_script,
    library_gates,
    reset_map,
    yosys_script,
)


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


#: Part of every key: raise it when the same circuit gives another structure.
_REVISION = 3

#: The most bits of a loop that are named.
_NAMED = 6

#: The latch of a clock gate.
_LATCH = "$_DLATCH_N_"

#: The pins of flip-flops of one bit that act without a clock: reset, set, load.
_ASYNCHRONOUS = ("R", "S", "L")


@dataclass(frozen=True)
class Structure:
    """What a netlist of flip-flops and gates of one bit is made of.

    ``clocks``: The input ports that clock it, through clock gates or without.
    ``faults``: What it must not have, a sentence each.
    ``clock_gates``: How many there are: latches that are open while the clock is low, each before an AND with that
        clock.
    """

    flip_flops: int
    memories: int
    clocks: tuple[str, ...]
    faults: tuple[str, ...]
    clock_gates: int = 0


def structure_of(
    circuit: Circuit, *, cache: Cache | None = None, progress: Progress | None = None
) -> Structure:
    """Synthesises a circuit to gates of one bit, with memories whole, and looks at what came of it."""
    cache = cache or Cache()
    yosys = find_yosys()
    key = content_key(str(_REVISION), "structure", str(yosys), circuit.top, circuit.verilog)
    # Before anything else, because a value that is not driven may be optimised away.
    script = GATES.format(top=circuit.top).replace("flatten\n", "flatten\ntribuf\n")

    def make() -> dict[str, Any]:
        return asdict(structure_in(yosys.modules(script, circuit.verilog, progress)[circuit.top]))

    kept = cache.kept(key, make)
    return Structure(**kept | {name: tuple(kept[name]) for name in ("clocks", "faults")})


def structure_in(module: Mapping[str, Any]) -> Structure:
    """The structure of a flat module of a netlist as Yosys writes it in JSON."""
    names = _names(module)
    inputs = {
        bit: name
        for name, port in module["ports"].items()
        if port["direction"] == "input"
        for bit in port["bits"]
    }
    gated, latches = _gated_clocks(module, inputs)
    sources = inputs | gated
    faults, clocks, flip_flops, memories, plain = [], set(), 0, 0, []
    for cell in module["cells"].values():
        kind, connections = cell["type"], cell["connections"]
        if "LATCH" in kind.upper() and connections["Q"][0] in latches:
            continue
        if "LATCH" in kind.upper() or kind.startswith(("$sr", "$_SR_")):
            faults.append(f"a latch holds {names[connections['Q'][0]]}")
        elif kind in ("$tribuf", "$_TBUF_"):
            faults.append(f"a tri-state drives {names[connections['Y'][0]]}")
        else:
            plain.append(cell)
        if kind.startswith("$mem"):
            memories += 1
        if kind.startswith(("$_DFF", "$_SDFF", "$_ALDFF")):
            flip_flops += 1
            holds = names[connections["Q"][0]]
            if kind.split("_")[2][0] == "N":
                faults.append(f"a falling edge clocks {holds}")
            if not kind.startswith("$_SDFF"):
                faults += [
                    f"{names[bit]}, which is no input, sets or resets {holds} without a clock"
                    for pin in _ASYNCHRONOUS
                    for bit in connections.get(pin, ())
                    if bit not in inputs
                ]
        for bit in _clocks(cell):
            if bit in sources:
                clocks.add(sources[bit])
            else:
                faults.append(f"{names[bit]}, which is no input, is a clock")
    faults += [
        f"port {name} has two directions"
        for name, port in module["ports"].items()
        if port["direction"] == "inout"
    ]
    loops = [*_loop(plain, names)]
    faults += loops
    if len(clocks) > 1 and not loops:
        faults += wrong_crossings(plain, module["netnames"], names, sources)
    return Structure(flip_flops, memories, tuple(sorted(clocks)), tuple(dict.fromkeys(faults)), len(gated))


def _gated_clocks(module: Mapping[str, Any], inputs: Mapping[Any, str]) -> tuple[dict[Any, str], set[Any]]:
    """The clocks behind gates, each with the input port that it is of, and what the latches of the gates hold. A gate is an
    AND of a clock and of what a latch holds while that is high; it may stand behind another one."""
    latches = [cell["connections"] for cell in module["cells"].values() if cell["type"] == _LATCH]
    held = {latch["Q"][0]: latch["E"][0] for latch in latches}
    ands = [cell["connections"] for cell in module["cells"].values() if cell["type"] == "$_AND_"]
    sources, gated, holding = dict(inputs), {}, set()
    for _ in latches:
        for gate in ands:
            pins = gate["A"][0], gate["B"][0]
            for clock, holds in (pins, pins[::-1]):
                if clock in sources and held.get(holds) == clock:
                    sources[gate["Y"][0]] = gated[gate["Y"][0]] = sources[clock]
                    holding.add(holds)
    return gated, holding


def _names(module: Mapping[str, Any]) -> dict[Any, str]:
    """A name for every bit: the first that is not the tool's own, if there is one."""
    names: dict[Any, str] = {}
    for name, net in sorted(module["netnames"].items(), key=lambda item: item[1]["hide_name"]):
        for index, bit in enumerate(net["bits"]):
            names.setdefault(bit, name if len(net["bits"]) == 1 else f"{name}[{index}]")
    return names | {constant: f"a constant {constant}" for constant in "01xz"}


def _clocks(cell: Mapping[str, Any]) -> Iterator[Any]:
    """The bits that clock a flip-flop or the ports of a memory."""
    kind, connections, parameters = cell["type"], cell["connections"], cell["parameters"]
    if kind.startswith(("$_DFF", "$_SDFF", "$_ALDFF")):
        yield from connections["C"]
    if kind.startswith("$mem"):
        for side in ("RD", "WR"):
            clocked = int(parameters[f"{side}_CLK_ENABLE"], 2)
            yield from (bit for port, bit in enumerate(connections[f"{side}_CLK"]) if clocked >> port & 1)


def _loop(cells: list[Mapping[str, Any]], names: Mapping[Any, str]) -> Iterator[str]:
    """A sentence about a combinational loop, if there is one."""
    try:
        TopologicalSorter(drivers_of(cells)).prepare()
    except CycleError as error:
        bits = error.args[1][:-1]
        more = " ..." if len(bits) > _NAMED else ""
        yield f"a combinational loop leads through {', '.join(names[bit] for bit in bits[:_NAMED])}{more}"
