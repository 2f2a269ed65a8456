"""Files for other tools' flows: Bender, FuseSoC, waivers, constraints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

from cdma.hdl.verilog.shell import SCAN_ENABLE, Port

from .block import KINDS, Block, kind_of
from .wrappers import clocks_of

_OPENING = "# Written by cdma generate: the blocks of this folder.\n"


def bender_manifest(package: str, files: list[str]) -> str:
    """The manifest of a folder with these Verilog ``files``; ``package`` is any name."""
    name = re.sub(r"[^a-z0-9_]+", "_", package.lower()).strip("_") or "cdma"
    sources = "".join(f"  - {file}\n" for file in sorted(set(files)))
    return f"{_OPENING}package:\n  name: {name}\nsources:\n{sources}"


def listed_files(manifest: str) -> list[str] | None:
    """The files of a manifest that :func:`bender_manifest` wrote; None for any other."""
    if not manifest.startswith(_OPENING):
        return None
    return re.findall(r"^  - (\S+\.s?v)$", manifest, re.MULTILINE)


_TARGETS = """\
targets:
  default:
    description: The block, for a design that depends on it
    filesets: [{sources}]
    toplevel: {name}
  lint:
    description: Verilator's complaints, of which there should be none
    flow: lint
    flow_options: {{tool: verilator, verilator_options: [-Wall]}}
    filesets: [rtl, waivers]
    toplevel: {name}
  sim:
    description: The first bench, whose last line says PASS or FAIL
    flow: sim
    flow_options: {{tool: icarus, iverilog_options: [-g2005]}}
    filesets: [rtl, bench]
    toplevel: {name}_tb
  synth:
    description: Synthesis out of context for an FPGA of Xilinx; choose your part
    flow: vivado
    flow_options: {{part: xcku5p-ffvb676-2-e, pnr: none}}
    filesets: [rtl, vivado]
    toplevel: {name}
"""
_SOFTWARE = """\
  software:
    description: The C headers, for the software that drives it
    filesets: [software]
"""


def fusesoc_core(block: Block, files: Iterable[str]) -> str:
    """The core file of a block with these ``files``.

    Its targets: the Verilog for a design that depends on it, a lint with the waivers, a simulation of the bench, a
    synthesis, and the headers for software.
    """
    groups: dict[str, list[str]] = {kind.group: [] for kind in KINDS}
    for file in files:
        kind = kind_of(file)
        groups[kind.group].append(f"      - {file}: {{{kind.fusesoc}}}\n")
    sets = "".join(
        f"  {group}:\n    files:\n{''.join(entries)}" for group, entries in groups.items() if entries
    )
    sources = "rtl, vhdl" if groups["vhdl"] else "rtl"
    return (
        f"CAPI=2:\nname: cdma:dma:{block.name}:{block.version}\ndescription: {block.title}\nfilesets:\n"
        f"{sets}{_TARGETS.format(name=block.name, sources=sources)}{_SOFTWARE if groups['software'] else ''}"
    )


@dataclass(frozen=True)
class Waiver:
    """A rule of Verilator that the Verilog is not held to, and why."""

    rule: str
    reason: str


#: Not in that file, because only such a text needs it, and an older Verilator may not know the rule.
_DECLARED = """\
// An initial value stands in the declaration, because no other process may write a variable of an always_ff.
lint_off -rule PROCASSINIT
"""


def verilator_waivers(*, declared_values: bool = False) -> str:
    """The text of ``waivers.vlt``: with it, ``verilator --lint-only -Wall`` has no complaint.

    Those of a text that has initial values in declarations with ``declared_values``.
    """
    text = (files(__package__) / "waivers.vlt").read_text("utf-8")
    return text + _DECLARED if declared_values else text


def waivers() -> list[Waiver]:
    """What that text says."""
    found = re.finditer(
        r"^// (?P<reason>.+)\nlint_off -rule (?P<rule>\w+)$", verilator_waivers(), re.MULTILINE
    )
    return [Waiver(each["rule"], each["reason"]) for each in found]


_GATED = """\
# What is timed is the function, in which enables alone open the clock gates. An enable has to be there before {clock} rises:
# tools infer that check from a gate, and the command may add a margin.
set_case_analysis 0 [get_ports scan_enable]
set_clock_gating_check -setup 0 -hold 0 [get_clocks {clock}]
"""
_OUT_OF_CONTEXT = """\
# For the module by itself (out of context). In a block design Vivado knows the clock and the neighbours:
# mark this file as out_of_context there.
"""
#: A part of a period that leaves as much for the other side as for this one.
_OUTSIDE = 0.4


def _port(ports: Sequence[Port], name: str) -> Port | None:
    return next((port for port in ports if port.name == name), None)


def _gated(ports: Sequence[Port]) -> str:
    """What is said of clock gates, if there are any."""
    scan_enable = _port(ports, SCAN_ENABLE.name)
    return _GATED.format(clock=scan_enable.clock) if scan_enable else ""


def sdc(name: str, ports: Sequence[Port], period: float) -> str:
    """Synopsys design constraints, as most synthesis and timing tools read them."""
    return _constraints(name, ports, period, vivado=False)


def xdc(name: str, ports: Sequence[Port], period: float) -> str:
    """Constraints for Vivado, for the module by itself out of context.

    Inside a design the tool derives all of this from the clock of the whole: then leave the file out.
    """
    return _OUT_OF_CONTEXT + _constraints(name, ports, period, vivado=True)


def _constraints(name: str, ports: Sequence[Port], period: float, *, vivado: bool) -> str:
    clocks = clocks_of(ports)
    lines = [
        f"# Timing constraints of {name}. Change the numbers to those of your design: a period in ns for each clock, and",
        "# the part of a period that is spent outside, before an input and behind an output.",
        f"set outside {_OUTSIDE:g}",
    ]
    for clock in clocks:
        apart = (clock, SCAN_ENABLE.name)
        own = [port for port in ports if port.clock == clock and port.name not in apart]
        lines += [
            f"set period_{clock} {period:g}",
            f"create_clock -name {clock} -period $period_{clock} [get_ports {clock}]",
        ]
        for direction in ("input", "output"):
            named = " ".join(
                port.name + "[*]" * (port.width > 1) for port in own if port.direction == direction
            )
            lines.append(
                f"set_{direction}_delay -clock {clock} [expr {{$period_{clock} * $outside}}] [get_ports {{ {named} }}]"
            )
    lines.append("# A reset is synchronous to its clock: it is a path like any other.")
    if _port(ports, "qreqn"):
        lines += ["# Two flip-flops synchronise qreqn.", "set_false_path -from [get_ports qreqn]"]
    crossings = crossing_lines(ports, vivado=vivado) if len(clocks) > 1 else ()
    return "\n".join([*lines, *crossings, _gated(ports)])


class _Fifo(NamedTuple):
    """A FIFO by its path, and the clocks of its writer and of its reader."""

    path: str
    writes: str
    reads: str


class _Level(NamedTuple):
    """A level: the register that it is from, and the synchroniser that it goes to."""

    source: str
    target: str
    clock: str


def _crossings(ports: Sequence[Port]) -> tuple[list[_Fifo], list[_Level]]:
    clock = {port.name: port.clock for port in ports}
    core = next(clock[port.name] for port in ports if port.name.startswith("m_axi_dev"))
    fifos: list[_Fifo] = []
    levels: list[_Level] = []

    def link(path: str, bus: str) -> None:
        for level in ("down", "heard"):
            levels.append(_Level(f"{path}/core_end/{level}", f"{path}/bus_end/other_{level}_seen", bus))
            levels.append(_Level(f"{path}/bus_end/{level}", f"{path}/core_end/other_{level}_seen", core))

    if (host := clock["m_axi_host_awvalid"]) != core:
        link("host_crossing", host)
        fifos += [_Fifo(f"host_crossing/{name}", core, host) for name in ("ar", "aw", "w")]
        fifos += [_Fifo(f"host_crossing/{name}", host, core) for name in ("r", "b")]
    bus = clock.get("s_axil_awvalid", core)
    if bus != core:
        for half in ("reads", "writes"):
            link(f"register_crossing/{half}", bus)
            fifos.append(_Fifo(f"register_crossing/{half}/requests", bus, core))
            fifos.append(_Fifo(f"register_crossing/{half}/answers", core, bus))
        if "qreqn" in clock:
            levels.append(_Level("closing/asks", "closing/closes_seen", bus))
            levels.append(_Level("closing/rests_level", "closing/rests_seen", core))
    return fifos, levels


def crossing_lines(ports: Sequence[Port], *, vivado: bool) -> Iterator[str]:
    """The lines; none with a single clock."""
    fifos, levels = _crossings(ports)
    if not fifos:
        return
    yield "# Between the clocks. A count changes bit by bit; a word lies in its memory for long before it is read."
    only = "-datapath_only " if vivado else ""
    paths = []
    for path, writes, reads in fifos:
        for name, clock, side in (("written", reads, "write"), ("removed", writes, "read")):
            # The highest bit of an index is that of its Gray code: synthesis keeps either.
            paths.append((f"cells {{{path}/{side}_*}}", f"{path}/{name}_seen/first", clock, vivado))
        # From the memory: what that is made of has no name of its own.
        paths.append((f"clocks {writes}", f"{path}/output", reads, False))
    paths += [(f"cells {{{source}*}}", f"{target}/first", clock, False) for source, target, clock in levels]
    for source, target, clock, skew in paths:
        ends = f"-from [get_{source}] -to [get_cells {{{target}*}}]"
        yield f"set_max_delay {only}{ends} $period_{clock}"
        if not vivado:
            yield f"set_false_path -hold {ends}"
        if skew:
            yield f"set_bus_skew {ends} $period_{clock}"
    if any(path.startswith("register_crossing") for path, *_ in fifos):
        yield "set_false_path -to [get_cells {irq_synchroniser/first*}]"
        if any(port.name == "qactive" for port in ports):
            yield "# Asynchronous, because what comes may wake the clock that it is for."
            yield "set_false_path -to [get_ports qactive]"
