"""The document of the registers, with their bit fields drawn, and of the records in memory."""

from __future__ import annotations

from collections.abc import Iterator

from cdma.hdl.spec.registers.description import REGISTER_BYTES, Access, Block, Field, Register, RegisterMap

from .document import Anchor, Code, Heading, Paragraph, Part, Table
from .record_document import record_document
from .register_drawing import bit_range, register_drawing

__all__ = ["register_document"]

_ACCESS = {
    Access.CONSTANT: "constant: reads as its reset value",
    Access.RO: "read-only: hardware drives it",
    Access.RW: "read and write",
    Access.PULSE: "write ones: acts once; reads as 0",
    Access.W1C: "hardware sets it, writing ones clears it",
    Access.LOCK: "writing a one sets it until the engine is reset",
}


def register_document(registers: RegisterMap) -> list[Part]:
    """The parts of the document."""
    placed = [(base, instance, block) for block in registers.blocks for instance, base in block.instances]
    bases = [
        (f"`{base:#05x}`", f"`{block.span:#x}`", instance, f"[{block.name}](#{block.name})")
        for base, instance, block in sorted(placed, key=lambda entry: entry[0])
    ]
    return [
        Heading(f"{registers.name}: registers", 1),
        Paragraph(registers.doc),
        Table(("access", "meaning"), [(access.value, meaning) for access, meaning in _ACCESS.items()]),
        Heading("Address map"),
        Table(("base", "size", "instance", "block"), bases),
        *(part for block in registers.blocks for part in _block(block)),
        *record_document(),
    ]


def _block(block: Block) -> Iterator[Part]:
    yield Heading(block.name)
    yield Paragraph(block.doc)
    rows = [
        (
            f"`{_offset(register)}`",
            f"[{_title(register)}](#{block.name}{register.name})",
            f"`{register.reset:#010x}`",
            f"{register.doc.partition('. ')[0].rstrip('.')}.",
        )
        for register in block.registers
    ]
    yield Table(("offset", "register", "reset", ""), rows)
    for register in block.registers:
        yield Anchor(f"{block.name}{register.name}")
        yield Heading(f"{block.name}.{_title(register)} at `{_offset(register)}`", 3)
        yield from _register(register)


def _register(register: Register) -> Iterator[Part]:
    yield Paragraph(register.doc)
    if register.locked_by:
        yield Paragraph(f"Locked by `{register.locked_by}`.")
    yield Code(register_drawing(register))
    rows = [
        (
            bit_range(field.msb, field.lsb),
            field.name,
            field.access.value,
            f"`{field.reset:#x}`",
            _meaning(field),
        )
        for field in reversed(register.fields)
    ]
    yield Table(("bits", "field", "access", "reset", ""), rows)


def _meaning(field: Field) -> str:
    choices = ", ".join(f"{value} {name}" for name, value in field.choices)
    return f"{field.doc} {choices}" if choices else field.doc


def _title(register: Register) -> str:
    return f"{register.name}[{register.count}]" if register.count else register.name


def _offset(register: Register) -> str:
    return f"{register.offset:#05x}" + (f" + {REGISTER_BYTES}·k" if register.count else "")
