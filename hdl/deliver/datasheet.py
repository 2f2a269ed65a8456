"""The datasheet of one configuration."""

from __future__ import annotations

from collections.abc import Iterator

from .block import Block
from .buses import STREAM, buses_of
from .datasheet_page import Drawing, Heading, Paragraph, Part, Table
from .drawing import block_drawing, wave_drawing
from .memory_list import memory_groups

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
_ROLES = {True: "manager", False: "subordinate"}
_STREAM_ROLES = {True: "transmitter", False: "receiver"}


def datasheet(block: Block) -> list[Part]:
    """The parts of the document."""
    return list(_parts(block))


def _parts(block: Block) -> Iterator[Part]:
    yield Heading(f"{block.name}: {block.title}", 1)
    yield Paragraph(
        f"Made by cdma {block.version}. This is the datasheet of this one configuration; `{block.name}.v` is its Verilog."
    )
    drawing = block_drawing(block.name, block.title, block.ports)
    yield Drawing(f"{block.name}_block.svg", f"`{block.name}` and its ports", drawing)
    yield Heading("Parameters")
    yield Table(("parameter", "value"), [(name, str(value)) for name, value in block.parameters.items()])
    yield Heading("Performance")
    yield Table(("figure", "value"), [(name, value) for name, value in block.facts.items()])
    if block.area:
        yield Heading("Area and clock")
        yield Table(("measured", "value"), [(name, value) for name, value in block.area.items()])
    yield from _ports(block)
    yield from _timing(block)
    if block.registers is not None:
        yield from _registers(block)
    yield Heading("Memories")
    if not block.design.memories:
        yield Paragraph("None: all that is stored is in flip-flops.")
    else:
        bits = sum(memory.bits for memory in block.design.memories)
        yield Paragraph(
            f"{len(block.design.memories)} memories, {bits:,} bits; `{block.name}_memories.md` has each."
        )
        rows = [
            (
                f"`{group.module}`",
                f"{group.shape.depth} x {group.shape.width}",
                str(len(group.memories)),
                f"{group.bits:,}",
                group.purpose,
            )
            for group in memory_groups(block.design.memories)
        ]
        yield Table(("module", "words x bits", "how many", "bits", "for"), rows)


def _ports(block: Block) -> Iterator[Part]:
    buses, single = buses_of(block.ports)
    yield Heading("Interfaces")
    roles = [(_STREAM_ROLES if bus.kind == STREAM else _ROLES)[bus.drives] for bus in buses]
    rows = [
        (f"`{bus.name}`", bus.kind, role if len(bus.signals) > 1 else "", str(bus.data_bits))
        for bus, role in zip(buses, roles, strict=True)
    ]
    rows += [(f"`{port.name}`", "level", port.direction, str(port.width)) for port in single]
    yield Table(("interface", "kind", "role", "bits"), rows)
    yield Paragraph(
        "Everything happens at the rising edge of `aclk`. `aresetn` is active low and synchronous to it."
    )
    yield Heading("Ports", 3)
    yield Table(
        ("port", "direction", "bits"),
        [(f"`{port.name}`", port.direction, str(port.width)) for port in block.ports],
    )


def _timing(block: Block) -> Iterator[Part]:
    yield Heading("Timing")
    buses, _ = buses_of(block.ports)
    if any(bus.kind == STREAM for bus in buses):
        shows = (
            "A stream: a beat moves in each cycle in which `tvalid` and `tready` are both 1. B waits for a cycle, and stays "
            "as it is meanwhile."
        )
        svg = wave_drawing("A packet of five beats on a stream", _STREAM)
        yield Drawing(f"{block.name}_stream.svg", shows, svg)
    if block.registers is not None:
        svg = wave_drawing("A write to a register", _LITE)
        yield Drawing(f"{block.name}_register.svg", "A write to a register, and its response.", svg)


def _registers(block: Block) -> Iterator[Part]:
    assert block.registers is not None
    yield Heading("Registers")
    yield Paragraph(
        f"All have 32 bits. `{block.name}_registers.html` and `.md` have every field, `{block.name}_regs.h` and "
        f"`{block.name}_regs.rdl` have the same for C and for register tools."
    )
    first = [placed for placed in block.registers.placed() if placed.index == 0]
    rows = [
        (
            f"{placed.address:#06x}",
            f"`{placed.instance}.{placed.register.name}`"
            + (f" x {placed.register.count}" if placed.register.count else ""),
            placed.register.doc,
        )
        for placed in first
    ]
    yield Table(("address", "register", "what for"), rows)
