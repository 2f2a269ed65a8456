"""Scripts that synthesise a block in the folder that it was generated into, on a library of its user.

The one for Yosys runs the commands with which ``cdma area`` measures (:mod:`.recipe`).
"""

from __future__ import annotations

from collections.abc import Sequence

from .recipe import COARSE, FINE, abc_script, cells_of_gates

__all__ = ["synthesis_files"]

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

_TCL = """\
# Synthesis of {name} in Genus or Design Compiler, in this folder:
#
#   LIBRARY=cells.lib genus -files {name}_synthesis.tcl
#   LIBRARY=cells.db dc_shell -f {name}_synthesis.tcl
#
# Neither tool has run it so far. LIBRARY names the files of the cell library, with blanks between them.
# Memories become flip-flops, unless modules of the same names with your macros take the place of those in {source}.
#
# It writes {name}_netlist.v, {name}_area.rpt and {name}_timing.rpt.
set libraries [split $::env(LIBRARY)]
if {{[llength [info commands syn_generic]]}} {{
    # Genus
    set_db library $libraries
    read_hdl -language {genus} {source}
    elaborate {name}
    read_sdc {name}.sdc
    check_design -all
    syn_generic
    syn_map
    syn_opt
    report_area > {name}_area.rpt
    report_timing > {name}_timing.rpt
    write_hdl > {name}_netlist.v
}} else {{
    # Design Compiler
    set_app_var target_library $libraries
    set_app_var link_library [concat * $libraries]
    analyze -format {compiler} {source}
    elaborate {name}
    current_design {name}
    link
    source {name}.sdc
    check_design
    compile_ultra
    redirect {name}_area.rpt {{ report_area -hierarchy }}
    redirect {name}_timing.rpt {{ report_timing }}
    write -format verilog -hierarchy -output {name}_netlist.v
}}
exit
"""


def synthesis_files(
    name: str, source: str, period: float, memories: Sequence[str], gates: Sequence[str] = ()
) -> dict[str, str]:
    """The scripts for the module ``name`` in the file ``source``, by name.

    ``period``
        The clock period in ns that its constraints say.
    ``memories``
        The modules of its memories, which stay instances in Yosys, as macros would.
    ``gates``
        The module of its clock gates, which stay instances as well.
    """
    is_sv = source.endswith(".sv")
    genus, compiler = ("sv", "sverilog") if is_sv else ("v2001", "verilog")
    return {
        f"{name}.ys": _YOSYS.format(
            name=name, period=period, commands=_commands(name, source, memories, gates, is_sv=is_sv)
        ),
        f"{name}.abc": abc_script(period),
        f"{name}_synthesis.tcl": _TCL.format(name=name, source=source, genus=genus, compiler=compiler),
    }


def _commands(name: str, source: str, memories: Sequence[str], gates: Sequence[str], *, is_sv: bool) -> str:
    liberty = f"-liberty {name}_cells.lib"
    apart = [
        "# Memories stay instances. Without this line they become flip-flops.",
        f"blackbox {' '.join(memories)}",
    ]
    lines = [
        f"read_verilog {'-sv ' if is_sv else ''}{source}",
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
