"""The scripts that turn Verilog into cells, for measurements and for the folder of a generated block.

The meaning of a figure depends on them, so they are part of the key under which a result is kept. Clock gates become
cells of the library.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from cdma.synth.asic.library.library import Library
from cdma.synth.asic.paths import MeasureError

from .paths import LibraryError

#: The module of a clock gate.
_MODULE = re.compile(r"^module (\w*clock_gate) \(.*?^endmodule$", re.MULTILINE | re.DOTALL)


def library_gates(verilog: str, library: Library) -> str:
    """The text, in which the module of its clock gates has a cell of the library; the same text if it has no such module."""
    if not _MODULE.search(verilog):
        return verilog
    gate = library.clock_gate
    if gate is None:
        raise LibraryError(
            f"{library.name} has no clock gate for a rising clock; measure without clock_gates"
        )
    pins = {pin.gating: pin.name for pin in gate.pins if pin.gating}
    test = "test" in pins
    connected = {
        "clock": "clk",
        "enable": "enable" if test else "enable | scan_enable",
        "test": "scan_enable",
        "out": "gated",
    }
    connections = ", ".join(f".{name}({connected[role]})" for role, name in pins.items())
    shown = ", ".join(f"{'output' if role == 'out' else 'input'} {name}" for role, name in pins.items())
    body = (
        "module {name} (input clk, input enable, input scan_enable, output gated);\n"
        f"  {gate.name} gate ({connections});\n"
        "endmodule\n"
        f"(* blackbox *) module {gate.name} ({shown});\nendmodule"
    )
    return _MODULE.sub(lambda found: body.format(name=found[1]), verilog)


#: The cell that replaces a memory that is left out; no library has a cell of this name.
MEMORY_LEFT_OUT = "MEMORY_LEFT_OUT"

_MEMORY_PARAMETERS = (
    *("MEMID", "SIZE", "OFFSET", "ABITS", "WIDTH", "INIT", "RD_PORTS", "RD_CLK_ENABLE", "RD_CLK_POLARITY"),
    *(
        *("RD_TRANSPARENCY_MASK", "RD_COLLISION_X_MASK", "RD_WIDE_CONTINUATION", "RD_CE_OVER_SRST"),
        *("RD_ARST_VALUE",),
    ),
    *("RD_SRST_VALUE", "RD_INIT_VALUE", "WR_PORTS", "WR_CLK_ENABLE", "WR_CLK_POLARITY", "WR_PRIORITY_MASK"),
    "WR_WIDE_CONTINUATION",
)

#: A clock gate is as large as three multiplexers, so fewer flip-flops than this under one enable get none.
_SMALLEST_GATED = 4


@dataclass(frozen=True)
class Options:
    """How a circuit is synthesised.

    ``target_ns``: The clock period to size gates for.
    ``clock_gating``: Whether registers with a common enable get a gated clock instead of a multiplexer per bit.
    ``flip_flop_memories``: Whether memories become flip-flops and multiplexers; otherwise their bits are counted.
    """

    target_ns: float = 1.0
    clock_gating: bool = False
    flip_flop_memories: bool = False

    def __post_init__(self) -> None:
        if not 0.001 <= self.target_ns <= 1000:
            raise MeasureError(f"the clock period is {self.target_ns!r} ns; it must be from 0.001 to 1000")


#: The best of two dozen scripts, in area and period of the compressor and the decompressor of 8 lanes of 32 bits.
#: ``&if -g`` rebuilds the logic for depth, which made the period a third shorter than that of Yosys's own script
#: (``&dch -f`` and ``&nf`` alone); ``&syn4`` before it keeps the area small, and ``&synch2`` gives the mapper choices.
_ABC = """\
strash
&get -n
&fraig -x
&put
scorr
dc2
strash
&get -n
&st
&syn4
&if -g -K 6
&dch -f
&if -g -K 6
&synch2 -R 100
&nf
&put
"""

#: Sizing needs delays; a library without delays has gates of one size. Fewer than 16 loads per gate cost area and
#: saved no time. ``-c`` sizes them for the wires that the library estimates by their loads, which :mod:`.timing` counts too.
_ABC_SIZING = """\
buffer -c -N 16
topo
upsize -c -D {picoseconds}
dnsize -c -D {picoseconds}
stime -c -p
"""

#: The part of a period that logic may take. ABC sees logic alone; the rest is for the flip-flop, from clock to output
#: and for its set-up.
_LOGIC_SHARE = 0.8


def abc_script(target_ns: float, *, timed: bool = True) -> str:
    """Returns ABC's script for the logic between registers; ``timed`` says whether the gates have delays."""
    picoseconds = round(target_ns * 1000 * _LOGIC_SHARE)
    return _ABC + (_ABC_SIZING.format(picoseconds=picoseconds) if timed else "")


def abc_constraints(library: Library) -> str:
    """Returns the driver of each input and the load of each output of the logic, as ABC assumes them."""
    return f"set_driving_cell {library.driver.name}\nset_load {library.load_ff:.4g}\n"


#: From Verilog to registers, operators and whole memories, and from these to gates of one bit. ABC runs once, with the
#: library: a run on general gates before that takes as long again and gains nothing.
COARSE = "synth -flatten -top {top} -run begin:fine"
FINE = "synth -top {top} -noabc -run fine:check"


def cells_of_gates(registers: str, gates: str) -> list[str]:
    """Returns the commands that make cells of gates of one bit; the options say where registers and gates are from."""
    return [
        f"dfflibmap -prepare {registers}",
        # A flip-flop has the name of the register that it is a part of, so that a path can be read.
        "rename -wire t:$_*DFF*",
        f"dfflibmap -map-only {registers}",
        f"abc {gates}",
        "opt_clean -purge",
    ]


def yosys_script(
    top: str, library: Library, files: Sequence[str], options: Options, keep: Sequence[str] = ()
) -> str:
    """Returns Yosys's script; ``files`` are those of the library, ``keep`` names the modules whose boundaries stay."""
    liberty = " ".join(f"-liberty {name}" for name in files)
    unused = "".join(f" -dont_use {cell.name}" for cell in library.cells.values() if cell.dont_use)
    kept = {cell.name for cell in library.flip_flops}
    registers = liberty + "".join(
        f" -dont_use {cell.name}"
        for cell in library.cells.values()
        if cell.is_flip_flop and cell.name not in kept
    )
    lines = [
        "read_verilog circuit.v",
        f"hierarchy -check -top {top}",
        *(f"setattr -mod -set keep_hierarchy 1 {module}" for module in keep),
        COARSE.format(top=top),
        # What the Verilog asks to have in flip-flops is no memory.
        "select -set memories t:$mem_v2 a:ram_style=registers %d",
        "select @memories",
        "write_json -selected memories.json",
        "select -clear",
    ]
    if not options.flip_flop_memories:
        lines.append(f"chtype -set {MEMORY_LEFT_OUT} @memories")
    lines.append(FINE.format(top=top))
    if options.clock_gating:
        lines += _gate_clocks(library)
    lines += [
        *cells_of_gates(registers, f"{liberty}{unused} -constr abc.constraints -script abc.script"),
        "write_json netlist.json",
        # A timing analyser does not read parameters.
        *(f"setparam -unset {parameter} t:{MEMORY_LEFT_OUT}" for parameter in _MEMORY_PARAMETERS),
        "splitnets -ports",
        "write_verilog -noattr -noexpr -nohex -simple-lhs netlist.v",
    ]
    return "\n".join(lines) + "\n"


def reset_map() -> str:
    """Returns Verilog that turns the synchronous reset of a register into logic, and leaves its enable an enable.

    Without it the enable would become logic, and no clock could be gated. The reset has priority over the enable in
    ``SDFFE``, and needs the enable in ``SDFFCE``.
    """
    modules = []
    for reset, value, enable in itertools.product("PN", "01", "PN"):
        resets = "R" if reset == "P" else "~R"
        enabled = "E" if enable == "P" else "~E"
        for kind, gate in (("SDFFE", f"{enabled} | {resets}"), ("SDFFCE", enabled)):
            name = f"\\$_{kind}_P{reset}{value}{enable}_ "
            modules.append(
                f"module {name}(input C, input R, input E, input D, output Q);\n"
                f"  \\$_DFFE_PP_ register (.C(C), .E({gate}), .D({resets} ? 1'b{value} : D), .Q(Q));\n"
                "endmodule\n"
            )
    return "".join(modules)


def _gate_clocks(library: Library) -> list[str]:
    gate = library.clock_gate
    if gate is None:
        raise LibraryError(
            f"{library.name} has no clock gate for a rising clock; measure without clock gating"
        )
    pins = {pin.gating: pin.name for pin in gate.pins if pin.gating}
    test = f" -tie_lo {pins['test']}" if "test" in pins else ""
    return [
        "techmap -map resets.v",
        "simplemap",
        "dfflegalize -cell $_DFF_P_ 01 -cell $_DFFE_PP_ 01",
        "opt -full",
        "opt_clean",
        f"clockgate -pos {gate.name} {pins['enable']}:{pins['clock']}:{pins['out']}{test} "
        f"-min_net_size {_SMALLEST_GATED}",
    ]


_YOSYS = """\
# Synthesis of {name} in Yosys, as cdma area does it, in this folder:
#
#   LIBERTY=cells.lib yosys -s {name}.ys
#   LIBERTY=cells.lib python -c 'from pyosys.libyosys import run_pass; run_pass("script {name}.ys")'
#
# LIBERTY is the cell library, packed with gzip or not. DRIVER is the cell that drives inputs, and LOAD what hangs at an
# output, in fF; both may be left out. (cdma area takes the smallest buffer, and four times the capacitance of its input.)
# {name}.abc has the time that logic may take, 0.8 of the {period:g} ns of {name}.sdc: change both.
#
# It writes {name}_netlist.v and {name}_area.rpt.
!gzip -cdf "${{LIBERTY:?it names no cell library}}" > {name}_cells.lib
!printf '%s\\n' ${{DRIVER:+"set_driving_cell $DRIVER"}} ${{LOAD:+"set_load $LOAD"}} > {name}_ports.constr
{commands}
"""


def synthesis_files(
    name: str, source: str, period: float, memories: Sequence[str], gates: Sequence[str] = ()
) -> dict[str, str]:
    """The scripts for the module ``name`` in the file ``source``, by name, for a ``period`` in ns; the modules of
    ``memories`` and ``gates`` stay instances."""
    return {
        f"{name}.ys": _YOSYS.format(
            name=name, period=period, commands=_commands(name, source, memories, gates)
        ),
        f"{name}.abc": abc_script(period),
    }


def _commands(name: str, source: str, memories: Sequence[str], gates: Sequence[str]) -> str:
    liberty = f"-liberty {name}_cells.lib"
    apart = [
        "# Memories stay instances. Without this line they become flip-flops.",
        f"blackbox {' '.join(memories)}",
    ]
    lines = [
        f"read_verilog {'-sv ' if source.endswith('.sv') else ''}{source}",
        f"hierarchy -check -top {name}",
        *(apart if memories else []),
        *(f"blackbox {gate}" for gate in gates),
        "# Cells have no initial values: what counts is the reset.",
        "proc",
        "setattr -unset init w:*",
        "delete t:$meminit*",
        COARSE.format(top=name),
        FINE.format(top=name),
        "# Flip-flops without an enable or a reset of their own take less area.",
        "dfflegalize -cell $_DFF_P_ x",
        *cells_of_gates(liberty, f"{liberty} -constr {name}_ports.constr -script {name}.abc"),
        f"tee -o {name}_area.rpt stat {liberty} -top {name}",
        f"write_verilog -noattr {name}_netlist.v",
    ]
    return "\n".join(lines)
