"""The files of a block's package: its datasheet, its bench, the list of its memories for whoever replaces them by
macros, and all texts of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdma.base.document import Heading, Paragraph, Part, Table, as_html, as_markdown
from cdma.hdl.deliver.bench.engine import engine_testbench
from cdma.hdl.deliver.bench.in_cocotb import cocotb_bench
from cdma.hdl.deliver.bench.opening import StreamVectors
from cdma.hdl.deliver.bench.stream import stream_testbench
from cdma.hdl.deliver.block import SYSTEM_VERILOG, VHDL, Block, ending, instance_template, may_grow, signed
from cdma.hdl.deliver.flows import fusesoc_core, sdc, verilator_waivers, xdc
from cdma.hdl.deliver.ipxact import ipxact_component
from cdma.hdl.deliver.registers import register_document
from cdma.hdl.deliver.wrappers import buses_of, clocking, role_of, vhdl_package
from cdma.hdl.spec.registers.description import RegisterMap
from cdma.hdl.verilog.printer.design import PlacedMemory
from cdma.hdl.verilog.printer.memories import Shape


def memory_row(memory: PlacedMemory) -> dict[str, Any]:
    """A memory as plain values, of which the first says what it is for.

    ``read_latency`` is 1 for a word in the cycle after its address, and 0 for one in the same cycle, as register files and
    look-up tables read; ``write_granularity`` is the number of bits for each write enable. Of the ``bits`` of
    one whose words have checks ``check_bits`` are these.
    """
    shape = memory.shape
    return {
        "purpose": memory.purpose,
        "path": memory.path,
        "module": memory.module or None,
        "depth": shape.depth,
        "width": shape.width,
        "write_ports": shape.writes,
        "read_ports": len(shape.reads),
        "read_latency": int(all(shape.reads)),
        "write_granularity": shape.granule,
        "bits": memory.bits,
        **({"check_bits": memory.check_bits} if memory.checks else {}),
    }


def memory_groups(memories: Sequence[PlacedMemory]) -> list[MemoryGroup]:
    """The memories by their shapes, of which each is one module or one macro; the shape with the most bits first."""
    groups: dict[Shape, list[PlacedMemory]] = {}
    for memory in memories:
        groups.setdefault(memory.shape, []).append(memory)
    found = [MemoryGroup(shape, tuple(group)) for shape, group in groups.items()]
    return sorted(found, key=lambda group: -group.bits)


@dataclass(frozen=True)
class MemoryGroup:
    """The memories of a shape."""

    shape: Shape
    memories: tuple[PlacedMemory, ...]

    @property
    def module(self) -> str:
        """The module that each of them is an instance of, or a word for the shape where there is none."""
        return self.memories[0].module or self.shape.name

    @property
    def bits(self) -> int:
        return sum(memory.bits for memory in self.memories)

    @property
    def purpose(self) -> str:
        """What they are for; what several purposes have in common before a colon is said once."""
        texts: dict[str, list[str]] = {}
        for purpose in dict.fromkeys(memory.purpose for memory in self.memories):
            subject, _, rest = purpose.partition(": ")
            texts.setdefault(subject, []).extend([rest] if rest else [])
        return "; ".join(
            f"{subject}: {'; '.join(rest)}" if rest else subject for subject, rest in texts.items()
        )


def memory_ports(memory: PlacedMemory) -> tuple[str, str]:
    """The number of its ports and the kind of its reads, to read: ``1w1r`` and ``synchronous``."""
    shape = memory.shape
    reads = "synchronous" if all(shape.reads) else "asynchronous"
    return f"{shape.writes}w{len(shape.reads)}r", reads


_RULES = """\
A synchronous port gives a word in the cycle after its address if its enable is high, and keeps it until the next.
An asynchronous one gives it in the same cycle, as register files and look-up tables do. A read of the word that
is written in the same cycle gives the word from before; nothing depends on that where the module's name ends with
_block. What a memory holds needs no reset."""
_TITLES = ("memory", "instance", "module", "words x bits", "ports", "reads", "bits per write enable", "bits")


def memory_document(name: str, memories: Sequence[PlacedMemory]) -> str:
    """A table in Markdown of all memories of the module ``name``."""
    bits, checks = (sum(getattr(memory, of) for memory in memories) for of in ("bits", "check_bits"))
    rows = [
        (
            memory.purpose,
            f"`{memory.path}`",
            f"`{memory.module}`" if memory.module else "",
            f"{memory.shape.depth} x {memory.shape.width}",
            *memory_ports(memory),
            str(memory.shape.granule),
            f"{memory.bits:,}",
            *([f"{memory.check_bits:,}"] if checks else []),
        )
        for memory in memories
    ]
    titles = (*_TITLES, *(["of them checks"] if checks else []))
    of_checks = f" of which {checks:,} are checks," if checks else ""
    head = f"{len(memories)} memories, {bits:,} bits,{of_checks} all at the clock of the design."
    parts = (
        Heading(f"Memories of {name}", 1),
        Paragraph(f"{head}\n{_RULES}"),
        Table(titles, rows, numbers=(3, 6, 7, *([8] if checks else []))),
    )
    return as_markdown(parts)


def memory_table(memories: Sequence[PlacedMemory]) -> Table:
    """Those of one shape in a row."""
    rows = [
        (
            group.purpose,
            group.module,
            f"{group.shape.depth} x {group.shape.width}",
            str(len(group.memories)),
            f"{group.bits:,}",
        )
        for group in memory_groups(memories)
    ]
    return Table(("memories", "module", "words x bits", "how many", "bits"), rows, (3, 4))


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
