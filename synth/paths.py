"""Combinational paths through a circuit: which output ports follow which input ports within a cycle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from cdma.base.cache import content_key
from cdma.base.json_cache import Cache
from cdma.base.yosys import Progress, Yosys, find_yosys

from .circuits import Circuit
from .errors import MeasureError

__all__ = ["GATES", "combinational_paths", "drivers_of", "paths_in"]

#: Part of every key: raise it when the same circuit gives other paths.
_REVISION = 1

#: Memories stay whole, everything else becomes gates and flip-flops of one bit.
GATES = """\
hierarchy -top {top}
proc
flatten
opt_expr
opt_clean
memory_collect
techmap
simplemap
opt -fast"""


def combinational_paths(
    circuit: Circuit,
    *,
    cache: Cache | None = None,
    yosys: Yosys | None = None,
    progress: Progress | None = None,
) -> dict[str, list[str]]:
    """Returns, for each output port that some input port reaches without a register, the names of these input ports.

    The paths are those of gates of one bit, after constants have been propagated. A path that no values of the inputs
    can make change the output still counts.
    """
    cache = cache or Cache()
    yosys = yosys or find_yosys()
    key = content_key(str(_REVISION), "paths", str(yosys), circuit.top, circuit.verilog)
    script = GATES.format(top=circuit.top)

    def make() -> dict[str, list[str]]:
        return paths_in(yosys.modules(script, circuit.verilog, progress)[circuit.top])

    found: dict[str, list[str]] = cache.kept(key, make)
    return found


def paths_in(module: Mapping[str, Any]) -> dict[str, list[str]]:
    """The paths of a flat module of a netlist as Yosys writes it in JSON."""
    ports = module["ports"]
    inputs = [name for name, port in ports.items() if port["direction"] == "input"]
    # A set of input ports is a number with a bit for each of them.
    reached: dict[Any, int] = defaultdict(int)
    for number, name in enumerate(inputs):
        for bit in ports[name]["bits"]:
            reached[bit] |= 1 << number
    _propagate(drivers_of(module["cells"].values()), reached)
    paths = {}
    for name, port in ports.items():
        if port["direction"] == "output":
            seen = 0
            for bit in port["bits"]:
                seen |= reached[bit]
            if seen:
                paths[name] = [each for number, each in enumerate(inputs) if seen >> number & 1]
    return paths


def drivers_of(cells: Iterable[Mapping[str, Any]]) -> dict[Any, list[Any]]:
    """For each bit that a gate or a memory drives without a clock, the bits that it follows."""
    return {bit: sources for cell in cells for outputs, sources in _arcs(cell) for bit in outputs}


def _arcs(cell: Mapping[str, Any]) -> list[tuple[list[Any], list[Any]]]:
    """The outputs of a cell, each with the inputs that they follow within a cycle."""
    kind, connections = cell["type"], cell["connections"]
    if kind.startswith("$mem"):
        return _memory_arcs(cell)
    if kind.startswith(("$_DFF", "$_SDFF", "$scopeinfo")):
        return []
    if not kind.startswith("$_") or "LATCH" in kind or kind.startswith("$_ALDFF"):
        raise MeasureError(
            f"the netlist has a cell {kind}, of which it is not known which paths lead through it"
        )
    sources = [bit for name, bits in connections.items() if name != "Y" for bit in bits]
    return [(connections["Y"], sources)]


def _memory_arcs(cell: Mapping[str, Any]) -> list[tuple[list[Any], list[Any]]]:
    """The read ports without a clock: their data follow their address."""
    parameters, connections = cell["parameters"], cell["connections"]
    width, address_bits, ports = (int(parameters[name], 2) for name in ("WIDTH", "ABITS", "RD_PORTS"))
    clocked = int(parameters["RD_CLK_ENABLE"], 2)
    return [
        (
            connections["RD_DATA"][port * width : (port + 1) * width],
            connections["RD_ADDR"][port * address_bits : (port + 1) * address_bits],
        )
        for port in range(ports)
        if not clocked >> port & 1
    ]


def _propagate(drivers: Mapping[Any, list[Any]], reached: dict[Any, int]) -> None:
    """Gives every driven bit the input ports of what drives it, sources before what follows from them."""
    try:
        for bit in TopologicalSorter(drivers).static_order():
            for source in drivers.get(bit, ()):
                reached[bit] |= reached[source]
    except CycleError:
        raise MeasureError("the netlist has a combinational loop") from None
