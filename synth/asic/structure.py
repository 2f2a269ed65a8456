"""What the netlist of a circuit must not have if the chip is to be timed and tested: latches, combinational loops,
tri-states, clocks or asynchronous resets that its ports do not control, and paths between clocks without a cell for
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from cdma.base.cache import Cache, content_key
from cdma.base.yosys import Progress, Yosys, find_yosys

from .paths import GATES, Circuit, drivers_of, wrong_crossings

__all__ = ["Structure", "structure_in", "structure_of"]

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

    ``flip_flops``, ``memories``
        How many there are.
    ``clocks``
        The input ports that clock them, through clock gates or without.
    ``faults``
        What it must not have, a sentence each.
    ``clock_gates``
        How many there are: latches that are open while the clock is low, each before an AND with that clock.
    """

    flip_flops: int
    memories: int
    clocks: tuple[str, ...]
    faults: tuple[str, ...]
    clock_gates: int = 0


def structure_of(
    circuit: Circuit,
    *,
    cache: Cache | None = None,
    yosys: Yosys | None = None,
    progress: Progress | None = None,
) -> Structure:
    """Synthesises a circuit to gates of one bit, with memories whole, and looks at what came of it."""
    cache = cache or Cache()
    yosys = yosys or find_yosys()
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
