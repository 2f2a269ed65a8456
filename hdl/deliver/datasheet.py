"""The files of a block's package: its datasheet, its bench, and all texts of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdma.base.document import Heading, Paragraph, Part, Table, as_html, as_markdown
from cdma.hdl.deliver.bench.opening import StreamVectors
from cdma.hdl.deliver.flows import verilator_waivers
from cdma.hdl.spec.registers.description import RegisterMap

from .bench.engine import engine_testbench
from .bench.in_cocotb import cocotb_bench
from .bench.stream import stream_testbench
from .block import SYSTEM_VERILOG, VHDL, Block, ending, instance_template, may_grow, signed
from .flows import fusesoc_core, sdc, xdc
from .ipxact import ipxact_component
from .memories import memory_document, memory_table
from .registers import register_document
from .wrappers import buses_of, clocking, role_of, vhdl_package


def datasheet(block: Block) -> list[Part]:
    """The parts of the document."""
    return list(_parts(block))


def _parts(block: Block) -> Iterator[Part]:
    yield Heading(f"{block.name}: {block.title}", 1)
    yield Paragraph(
        f"Made by cdma {block.version}. This is the datasheet of this one configuration; "
        f"`{block.name}{ending(block.language)}` is its Verilog."
    )
    yield from _values("Parameters", "parameter", block.parameters)
    yield from _values("Performance", "figure", block.facts)
    yield from _interfaces(block)
    if block.registers is not None:
        yield from _registers(block.name, block.registers)
    yield from _memories(block)


def _values(heading: str, what: str, rows: Mapping[str, object]) -> Iterator[Part]:
    yield Heading(heading)
    yield Table((what, "value"), [(name, str(value)) for name, value in rows.items()])


def _interfaces(block: Block) -> Iterator[Part]:
    buses, single = buses_of(block.ports)
    yield Heading("Interfaces")
    rows = []
    for bus in buses:
        rows.append((f"`{bus.name}`", bus.kind, role_of(bus), str(bus.data_bits)))
    rows += [(f"`{port.name}`", "level", port.direction, str(port.width)) for port in single]
    yield Table(("interface", "kind", "role", "bits"), rows)
    yield Paragraph(clocking(block.ports, "`"))
    yield Heading("Ports", 3)
    ports = [(f"`{port.name}`", port.direction, str(port.width)) for port in block.ports]
    yield Table(("port", "direction", "bits"), ports)


def _registers(name: str, registers: RegisterMap) -> Iterator[Part]:
    yield Heading("Registers")
    yield Paragraph(
        f"All have 32 bits. `{name}_registers.html` and `.md` have every field, `{name}_regs.h` and "
        f"`{name}_regs.rdl` have the same for C and for register tools."
    )
    rows = []
    for placed in registers.placed():
        register = placed.register
        count = f" x {register.count}" if register.count else ""
        if not placed.index:
            rows.append(
                (f"{placed.address:#06x}", f"`{placed.instance}.{register.name}`{count}", register.doc)
            )
    yield Table(("address", "register", "what for"), rows)


def _memories(block: Block) -> Iterator[Part]:
    memories = block.design.memories
    yield Heading("Memories")
    if not memories:
        yield Paragraph("None: all that is stored is in flip-flops.")
        return
    bits = sum(memory.bits for memory in memories)
    yield Paragraph(f"{len(memories)} memories, {bits:,} bits; `{block.name}_memories.md` has each.")
    yield memory_table(memories)


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
        f"{name}_inst{end}": instance_template(name, ports),
        **({f"{name}_pkg.vhd": vhdl_package(name, ports)} if block.language == VHDL else {}),
        f"{name}_tb.v": testbench(block),
        **({} if in_cocotb is None else {f"{name}_cocotb.py": in_cocotb}),
        f"{name}.sdc": sdc(name, ports, block.period),
        f"{name}.xdc": xdc(name, ports, block.period),
        f"{name}.vlt": verilator_waivers(declared_values=is_sv),
        **block.texts,
    }
    if block.registers is not None:
        files[f"{name}_registers.html"] = as_html(register_document(block.registers), anchors=True)
    if memories:
        files[f"{name}_memories.md"] = memory_document(name, memories)
    files[f"{name}_datasheet.md"] = as_markdown(sheet, rule=" --- ")
    files[f"{name}_datasheet.html"] = as_html(sheet)
    files |= {file: signed(file, text) for file, text in files.items() if may_grow(file)}
    return {
        **files,
        f"{name}.core": fusesoc_core(block, files),
        f"{name}_component.xml": ipxact_component(block, files),
    }
