"""Blocks to measure as Verilog, their gates, and paths in these: from input to output ports, and between clocks.

A path between clocks must be in one of two cells: the first flip-flop of a synchroniser, straight from a flip-flop; or
the output of a FIFO between two clocks, from its own memory.
"""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from cdma.base.cache import content_key, kept_text
from cdma.base.errors import CdmaError
from cdma.base.yosys import Yosys, find_yosys, scratch
from cdma.hdl.deliver.block import Config, block_design


class LibraryError(CdmaError):
    """A cell library that cannot be read, or that a circuit cannot be mapped to."""


class MeasureError(CdmaError):
    """A measurement that makes no sense, or a point of a sweep that was lost."""


@dataclass(frozen=True)
class Circuit:
    """What is measured: Verilog without initial values, its top module, and its name and parameters for a report."""

    block: str
    config: dict[str, Any]
    top: str
    verilog: str


def circuit_of(block: str, config: Config) -> Circuit:
    """A block without initial values, as for an ASIC."""
    top = f"cdma_{block}"
    return Circuit(block, config.settings(), top, block_design(block, config, name=top, init=False).text)


#: Part of every key: raise it when this module makes another netlist of the same design.
_REVISION = "1"

#: Modules with a memory stay what they are, as macros would. Everything else becomes one module of gates and flip-flops.
_SCRIPT = """\
read_verilog -sv design.v
hierarchy -check -top {top}
proc
select -set memories t:$mem* t:$memrd* t:$memwr* %u %u %m
tee -q -o memories select -list-mod @memories
blackbox @memories
synth -flatten -top {top}
{mapped}
opt_clean -purge
delete =A:blackbox
{cells}
write_verilog -noattr netlist.v
"""


def gate_netlist(verilog: str, top: str, liberty: Sequence[Path] = ()) -> str:
    """The module ``top`` of ``verilog`` as gates: those of the ``liberty`` files, which come with it as modules of their
    functions, or Yosys's own of two inputs.

    It is kept by content. A design with initial values would need flip-flops that have them: give the Verilog without.
    """
    yosys = find_yosys()
    libraries = [_text(path) for path in liberty]
    key = content_key(_REVISION, str(yosys), top, verilog, *libraries)
    return kept_text("gates", key, ".v", lambda: _synthesise(yosys, verilog, top, libraries))


def _text(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LibraryError(f"the library {path} cannot be read: {error.strerror}") from None
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def _synthesise(yosys: Yosys, verilog: str, top: str, libraries: Sequence[bytes]) -> str:
    names = [f"cells{number}.lib" for number in range(len(libraries))]
    liberty_options = " ".join(f"-liberty {name}" for name in names)
    with scratch() as folder:
        (folder / "design.v").write_text(verilog)
        for name, content in zip(names, libraries, strict=True):
            (folder / name).write_bytes(content)
        mapped = f"dfflibmap {liberty_options}\nabc {liberty_options}" if names else ""
        # Of each cell its function, as a module.
        cells = "\n".join(f"read_liberty -ignore_miss_func {name}" for name in names)
        yosys.run(_SCRIPT.format(top=top, mapped=mapped, cells=cells), folder)
        netlist = (folder / "netlist.v").read_text()
        memories = (folder / "memories").read_text().split()
    return "\n".join([netlist, *(_module(verilog, name) for name in memories)])


def _module(verilog: str, name: str) -> str:
    found = re.search(rf"^module {re.escape(name)} \(.*?^endmodule$", verilog, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[0] + "\n"


_FIRST = re.compile(r"(_seen|_synchroniser)\.first$")
#: The output of a FIFO, whose memory is ``path.memory``.
_OUTPUT = re.compile(r"^(?P<path>.*)\.output_\w+$")


def wrong_crossings(
    cells: Collection[Mapping[str, Any]],
    netnames: Mapping[str, Any],
    names: Mapping[Any, str],
    clocks: Mapping[Any, str],
) -> Iterator[str]:
    """A sentence for each flip-flop, and for each port of a memory, that another clock reaches by an unknown way.

    ``netnames``, ``names``: All names of the bits, as Yosys writes them, and one for each.
    ``clocks``: The port that clocks a bit; of a gated clock, the one before the gate.
    """
    called: dict[Any, list[str]] = defaultdict(list)
    for name, net in netnames.items():
        for bit in net["bits"]:
            called[bit].append(name)
    #: Of each bit, what holds it: the clock, and the flip-flop or the memory that it is in.
    stored: dict[Any, tuple[Any, str]] = {}
    for cell in cells:
        connections = cell["connections"]
        if _is_register(cell):
            stored[connections["Q"][0]] = clocks.get(connections["C"][0]), names[connections["Q"][0]]
    drivers = drivers_of(cells)
    reached: dict[Any, frozenset[tuple[Any, str]]] = defaultdict(frozenset)
    reached |= {bit: frozenset([origin]) for bit, origin in stored.items()}
    for cell in cells:
        if cell["type"].startswith("$mem") and len(cell["connections"]["WR_CLK"]):
            origin = clocks.get(cell["connections"]["WR_CLK"][0]), cell["parameters"]["MEMID"].lstrip("\\")
            for bit in _read_at_once(cell):
                reached[bit] |= {origin}
    for bit in TopologicalSorter(drivers).static_order():
        for source in drivers.get(bit, ()):
            reached[bit] |= reached[source]
    for cell in cells:
        for clock, bits, target in _inputs(cell, names):
            aliases = called[cell["connections"]["Q"][0]] if _is_register(cell) else []
            for bit in bits:
                foreign = {origin for origin in reached[bit] if origin[0] != clocks.get(clock)}
                if foreign and not any(_is_known(name, bit, foreign, stored) for name in aliases):
                    sources = sorted(source for _, source in foreign)
                    yield f"{sources[0]} reaches {target}, which has another clock, by no cell for it"


def _is_known(name: str, bit: Any, foreign: set[tuple[Any, str]], stored: Mapping[Any, Any]) -> bool:
    """Whether a path ends in one of the two cells, and begins where it may."""
    if _FIRST.search(name):
        return bit in stored
    if (output := _OUTPUT.match(name)) is None:
        return False
    return all(source.startswith(f"{output['path']}.memory") for _, source in foreign)


def _is_register(cell: Mapping[str, Any]) -> bool:
    return cell["type"].startswith(("$_DFF", "$_SDFF", "$_ALDFF"))


def _read_at_once(cell: Mapping[str, Any]) -> list[Any]:
    """The bits that are read without a clock."""
    parameters = cell["parameters"]
    width, clocked = int(parameters["WIDTH"], 2), int(parameters["RD_CLK_ENABLE"], 2)
    data = cell["connections"]["RD_DATA"]
    return [bit for place, bit in enumerate(data) if not clocked >> place // width & 1]


def _inputs(cell: Mapping[str, Any], names: Mapping[Any, str]) -> Iterator[tuple[Any, list[Any], str]]:
    """A clock, the bits that it takes in, and a name for where."""
    connections = cell["connections"]
    if _is_register(cell):
        bits = [bit for pin, some in connections.items() if pin not in ("C", "Q") for bit in some]
        yield connections["C"][0], bits, names[connections["Q"][0]]
    elif cell["type"].startswith("$mem"):
        target = cell["parameters"]["MEMID"].lstrip("\\")
        for clock in connections["WR_CLK"][:1]:
            yield clock, [bit for pin in ("WR_ADDR", "WR_DATA", "WR_EN") for bit in connections[pin]], target
        clocked = int(cell["parameters"]["RD_CLK_ENABLE"], 2)
        if clocked:
            yield connections["RD_CLK"][0], [*connections["RD_ADDR"], *connections["RD_EN"]], target


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
