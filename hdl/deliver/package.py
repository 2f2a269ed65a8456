"""All files of a block: one folder that a design flow takes as it is."""

from __future__ import annotations

from cdma.hdl.deliver.waivers import verilator_waivers

from .bench.in_cocotb import cocotb_bench
from .block import Block
from .constraints import sdc, xdc
from .datasheet import datasheet
from .document import Drawing, as_html, as_markdown
from .fusesoc import fusesoc_core
from .grown import may_grow, signed
from .instance import instance_template
from .ipxact import ipxact_component
from .languages import SYSTEM_VERILOG, VHDL, ending
from .memory_document import memory_document
from .power_intent import power_intent
from .register_document import register_document
from .sv_instance import sv_instance
from .testbench import testbench
from .vhdl import vhdl_files

__all__ = ["package_files"]


def package_files(block: Block) -> dict[str, str]:
    """Each text by the name of its file, the Verilog first. Every name begins with that of the block."""
    name, ports, memories = block.name, block.ports, block.design.memories
    sheet, in_cocotb = datasheet(block), cocotb_bench(block)
    end, is_sv = ending(block.language), block.language == SYSTEM_VERILOG
    files = {
        f"{name}{end}": block.design.text,
        f"{name}_inst{end}": sv_instance(name, ports) if is_sv else instance_template(name, ports),
        **(vhdl_files(name, ports) if block.language == VHDL else {}),
        f"{name}_tb.v": testbench(block),
        **({} if in_cocotb is None else {f"{name}_cocotb.py": in_cocotb}),
        f"{name}.sdc": sdc(name, ports, block.period),
        f"{name}.xdc": xdc(name, ports, block.period),
        f"{name}.upf": power_intent(block),
        f"{name}.vlt": verilator_waivers(declared_values=is_sv),
        **block.texts,
    }
    if block.registers is not None:
        files[f"{name}_registers.html"] = as_html(register_document(block.registers), anchors=True)
    if memories:
        files[f"{name}_memories.md"] = memory_document(name, memories)
    files |= {part.file: part.svg for part in sheet if isinstance(part, Drawing)}
    files[f"{name}_datasheet.md"] = as_markdown(sheet, rule=" --- ")
    files[f"{name}_datasheet.html"] = as_html(sheet)
    files |= {file: signed(file, text) for file, text in files.items() if may_grow(file)}
    return {
        **files,
        f"{name}.core": fusesoc_core(block, files),
        f"{name}_component.xml": ipxact_component(block, files),
    }
