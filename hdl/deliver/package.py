"""A first bench for a generated module, in plain Verilog: a tensor, or packets, through it, every byte compared. All
files of a block: one folder that a design flow takes as it is.
"""

from __future__ import annotations

from cdma.hdl.deliver.bench.opening import StreamVectors
from cdma.hdl.deliver.flows import verilator_waivers

from .bench.engine import engine_testbench
from .bench.in_cocotb import cocotb_bench
from .bench.stream import stream_testbench
from .block import Block, instance_template
from .datasheet import datasheet
from .document import Drawing, as_html, as_markdown, memory_document
from .flows import fusesoc_core, power_intent, sdc, xdc
from .ipxact import ipxact_component
from .languages import SYSTEM_VERILOG, VHDL, ending, may_grow, signed
from .registers import register_document
from .wrappers import sv_instance, vhdl_files

__all__ = ["package_files", "testbench"]


def testbench(block: Block) -> str:
    """The bench, a module called ``NAME_tb``; the last line that it prints says ``PASS`` or ``FAIL``."""
    if isinstance(block.vectors, StreamVectors):
        return stream_testbench(block.name, block.ports, block.vectors, ending(block.language))
    return engine_testbench(block.name, block.ports, block.registers, block.vectors, ending(block.language))


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
