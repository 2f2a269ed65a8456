"""The FuseSoC core file of a block."""

from __future__ import annotations

from collections.abc import Iterable

from .block import Block
from .file_kinds import KINDS, kind_of

__all__ = ["fusesoc_core"]

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
