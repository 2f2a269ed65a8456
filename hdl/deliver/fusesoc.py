"""The FuseSoC core file of a generated module."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["fusesoc_core"]

#: Each set of files with the ends of their names and FuseSoC's words for them; the first that fits is a file's.
_SETS = (
    ("bench", "_tb.v", "{file_type: verilogSource-2005}"),
    ("template", "_inst.v", "{file_type: user}"),
    ("verification", "_uvm.sv", "{file_type: systemVerilogSource}"),
    ("rtl", ".v", "{file_type: verilogSource-2005}"),
    ("waivers", ".vlt", "{file_type: vlt}"),
    ("software", ".h", "{file_type: cSource, is_include_file: true}"),
    ("vivado", ".xdc", "{file_type: xdc}"),
    ("constraints", ".sdc", "{file_type: SDC}"),
    ("documents", "", "{file_type: user}"),
)


def fusesoc_core(name: str, version: str, description: str, files: Iterable[str]) -> str:
    """The core file of the module ``name``, which is among ``files``.

    Its targets: the Verilog for a design that depends on it, a lint with the waivers, a simulation of the bench, a
    synthesis, and the headers for software.
    """
    sets: dict[str, list[str]] = {}
    for file in files:
        label, _, kind = next(each for each in _SETS if file.endswith(each[1]))
        sets.setdefault(label, []).append(f"{file}: {kind}")
    lines = ["CAPI=2:", f"name: cdma:dma:{name}:{version}", f"description: {description}", "filesets:"]
    for label, _, _ in _SETS:
        if label in sets:
            lines += [f"  {label}:", "    files:", *(f"      - {entry}" for entry in sets[label])]
    lines += [
        "targets:",
        "  default:",
        "    description: The Verilog, for a design that depends on it",
        "    filesets: [rtl]",
        f"    toplevel: {name}",
        "  lint:",
        "    description: Verilator's complaints, of which there should be none",
        "    flow: lint",
        "    flow_options: {tool: verilator, verilator_options: [-Wall]}",
        "    filesets: [rtl, waivers]",
        f"    toplevel: {name}",
        "  sim:",
        "    description: A reset, after which every output is known and nothing moves",
        "    flow: sim",
        "    flow_options: {tool: icarus, iverilog_options: [-g2005]}",
        "    filesets: [rtl, bench]",
        f"    toplevel: {name}_tb",
        "  synth:",
        "    description: Synthesis out of context for an FPGA of Xilinx; choose your part",
        "    flow: vivado",
        "    flow_options: {part: xcku5p-ffvb676-2-e, pnr: none}",
        "    filesets: [rtl, vivado]",
        f"    toplevel: {name}",
    ]
    if "software" in sets:
        lines += [
            "  software:",
            "    description: The C headers, for the software that drives it",
            "    filesets: [software]",
        ]
    return "\n".join(lines) + "\n"
