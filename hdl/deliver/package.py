"""All files of a generated module: one folder that a design flow takes as it is."""

from __future__ import annotations

from cdma.hdl.verilog.waivers import verilator_waivers

from .block import Block
from .constraints import sdc, xdc
from .datasheet import datasheet
from .datasheet_page import Drawing, as_html, as_markdown
from .fusesoc import fusesoc_core
from .instance import instance_template
from .ipxact import component
from .memory_list import memory_document
from .register_page import page_of
from .testbench import testbench

__all__ = ["package_files"]

#: IP-XACT's words for the types of the files that it lists, by the end of their names; others are not for its readers.
_IPXACT_TYPES = {
    ".sdc": "SDC",
    ".xdc": "user",
    ".h": "cSource",
    ".rdl": "user",
    "_datasheet.html": "user",
    "_uvm.sv": "systemVerilogSource",
}


def package_files(block: Block) -> dict[str, str]:
    """Each text by the name of its file, the Verilog first. Every name begins with that of the block."""
    name, ports, memories = block.name, block.ports, block.design.memories
    sheet = datasheet(block)
    files = {
        f"{name}.v": block.design.text,
        f"{name}_inst.v": instance_template(name, ports),
        f"{name}_tb.v": testbench(name, ports),
        f"{name}.sdc": sdc(name, ports, block.period),
        f"{name}.xdc": xdc(name, ports, block.period),
        f"{name}.vlt": verilator_waivers(),
        **block.texts,
        **{
            f"{file.removesuffix('.md')}.html": page_of(text)
            for file, text in block.texts.items()
            if file.endswith("_registers.md")
        },
        **({f"{name}_memories.md": memory_document(name, memories)} if memories else {}),
        **{part.file: part.svg for part in sheet if isinstance(part, Drawing)},
        f"{name}_datasheet.md": as_markdown(sheet),
        f"{name}_datasheet.html": as_html(sheet),
    }
    listed = {file: kind for file in files for end, kind in _IPXACT_TYPES.items() if file.endswith(end)}
    return {
        **files,
        f"{name}.core": fusesoc_core(name, block.version, block.title, files),
        f"{name}_component.xml": component(
            name, block.version, block.title, ports, {f"{name}.v": "verilogSource", **listed}, block.registers
        ),
    }
