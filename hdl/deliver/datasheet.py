"""The datasheet of one configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdma.hdl.spec.registers.description import RegisterMap

from .block import Block
from .buses import STREAM, buses_of, clocking, role_of
from .document import Drawing, Heading, Paragraph, Part, Table
from .drawing import block_drawing, wave_drawing
from .languages import ending
from .memory_document import memory_table

__all__ = ["datasheet"]

_STREAM = (
    ("aclk", "pppppppp"),
    ("tvalid", "01111110"),
    ("tready", "11011111"),
    ("tdata", "-ABBCDE-"),
    ("tlast", "00000010"),
)
_LITE = (
    ("aclk", "pppppp"),
    ("awvalid, wvalid", "011000"),
    ("awready, wready", "001000"),
    ("wdata", "-AA---"),
    ("bvalid", "000110"),
    ("bready", "111111"),
)


def datasheet(block: Block) -> list[Part]:
    """The parts of the document."""
    return list(_parts(block))


def _parts(block: Block) -> Iterator[Part]:
    yield Heading(f"{block.name}: {block.title}", 1)
    yield Paragraph(
        f"Made by cdma {block.version}. This is the datasheet of this one configuration; "
        f"`{block.name}{ending(block.language)}` is its Verilog."
    )
    drawing = block_drawing(block.name, block.title, block.ports)
    yield Drawing(f"{block.name}_block.svg", f"`{block.name}` and its ports", drawing)
    yield from _values("Parameters", "parameter", block.parameters)
    yield from _values("Performance", "figure", block.facts)
    if block.area:
        yield from _values("Area and clock", "measured", block.area)
    if block.simulated:
        yield Heading("Latency")
        yield from block.simulated
    yield from _interfaces(block)
    yield from _timing(block)
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


def _timing(block: Block) -> Iterator[Part]:
    yield Heading("Timing")
    if any(bus.kind == STREAM for bus in buses_of(block.ports)[0]):
        caption = (
            "A stream: a beat moves in each cycle in which `tvalid` and `tready` are both 1. B waits for a cycle, and stays "
            "as it is meanwhile."
        )
        svg = wave_drawing("A packet of five beats on a stream", _STREAM)
        yield Drawing(f"{block.name}_stream.svg", caption, svg)
    if block.registers is not None:
        svg = wave_drawing("A write to a register", _LITE)
        yield Drawing(f"{block.name}_register.svg", "A write to a register, and its response.", svg)


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
