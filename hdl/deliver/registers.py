"""The register map as documents, SystemRDL, UVM and a C header; descriptors and completions are in the header, too."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from cdma.base.document import Anchor, Heading, Paragraph, Part, Table, as_markdown
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import (
    COMPLETION,
    DESCRIPTOR,
    RECORD_BYTES,
    SHAPE_RECORD,
    Mode,
    RecordField,
    Status,
)
from cdma.hdl.spec.registers.declare import RecordPart, record_parts
from cdma.hdl.spec.registers.description import (
    REGISTER_BITS,
    REGISTER_BYTES,
    Access,
    Block,
    Field,
    Register,
    RegisterMap,
)
from cdma.hdl.spec.registers.map import register_map
from cdma.hdl.verilog.names import legal_name


def register_texts(config: EngineConfig, name: str = "cdma", *, every: bool = False) -> dict[str, str]:
    """Each text about the registers of the engine of ``config``, by the name of its file, which begins with ``name``; with
    ``every`` also about registers that only others have.

    The C header has the registers of every engine, because one driver serves them all.
    """
    registers = register_map(config, every=every)
    return {
        f"{name}_regs.h": c_header(register_map(config, every=True), name),
        f"{name}_regs.rdl": register_rdl(registers, name),
        f"{name}_registers.md": as_markdown(register_document(registers)),
    }


def bit_range(msb: int, lsb: int) -> str:
    return str(msb) if msb == lsb else f"{msb}:{lsb}"


def record_document() -> list[Part]:
    """The tables of both records."""
    return [
        Heading("Records in memory"),
        Paragraph(
            f"A descriptor and a completion have {RECORD_BYTES} bytes each, little-endian. "
            "In a ring they follow one another."
        ),
        Heading("Descriptor", 3),
        _fields(DESCRIPTOR),
        _choices("mode", Mode),
        Heading("Extension of a descriptor with a shape", 3),
        _fields(SHAPE_RECORD),
        Heading("Completion", 3),
        _fields(COMPLETION),
        _choices("status", Status),
    ]


def _fields(record: tuple[RecordField, ...]) -> Table:
    return Table(("bytes", "bits", "field", ""), list(_rows(record)))


def _rows(record: tuple[RecordField, ...]) -> Iterator[tuple[str, ...]]:
    first = 0
    for field in record:
        end = first + field.bits
        low, last = first - 8 * field.byte, (end - 1) // 8
        place = str(field.byte) if field.byte == last else f"{field.byte} to {last}"
        yield place, bit_range(low + field.bits - 1, low), field.name, field.doc
        first = end


def _choices(name: str, choices: type[Mode] | type[Status]) -> Table:
    return Table((name, ""), [(str(int(choice)), choice.name.lower()) for choice in choices])


_ACCESS = {
    Access.CONSTANT: "constant: reads as its reset value",
    Access.RO: "read-only: hardware drives it",
    Access.RW: "read and write",
    Access.PULSE: "write ones: acts once; reads as 0",
    Access.W1C: "hardware sets it, writing ones clears it",
    Access.LOCK: "writing a one sets it until the engine is reset",
}


def register_document(registers: RegisterMap) -> list[Part]:
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


_PROPERTIES = {
    Access.CONSTANT: ("sw = r", "hw = na"),
    Access.RO: ("sw = r", "hw = w"),
    Access.RW: ("sw = rw", "hw = r"),
    Access.PULSE: ("sw = w", "hw = r"),
    Access.W1C: ("sw = rw", "hw = rw", "onwrite = woclr", "hwset"),
    Access.LOCK: ("sw = rw", "hw = r", "onwrite = woset"),
}


def register_rdl(registers: RegisterMap, name: str = "cdma") -> str:
    """The text, ending with a newline; ``name`` is that of its top-level ``addrmap``."""
    head = (
        f"desc = {_text(registers.doc)};",
        "default regwidth = 32;",
        "default accesswidth = 32;",
        "littleendian;",
        "lsb0;",
    )
    lines = [*head, *(line for block in registers.blocks for line in ("", *_rdl_block(block)))]
    return "\n".join((f"addrmap {name} {{", *_inside(lines), "};")) + "\n"


def _inside(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"    {line}" if line else ""


def _rdl_block(block: Block) -> Iterator[str]:
    yield f"regfile {block.name}_t {{"
    yield from _inside((f"name = {_text(block.name)};", f"desc = {_text(block.doc)};"))
    for register in block.registers:
        yield ""
        yield from _inside(_rdl_register(register))
    locks = list(_locks(block))
    yield from ("", *_inside(locks)) if locks else ()
    yield "};"
    for instance, base in block.instances:
        yield f"{block.name}_t {instance} @ {base:#x};"


def _locks(block: Block) -> Iterator[str]:
    for register in block.registers:
        if register.locked_by:
            for index in [f"[{k}]" for k in range(register.count)] or [""]:
                for field in register.fields:
                    if field.access.writable:
                        yield f"{register.name}{index}.{field.name}->swwel = {register.locked_by};"


def _rdl_register(register: Register) -> Iterator[str]:
    yield "reg {"
    yield f"    desc = {_text(register.doc)};"
    for field in register.fields:
        yield from _inside(_field(field))
    array = f"[{register.count}]" if register.count else ""
    yield f"}} {register.name}{array} @ {register.offset:#x};"


def _field(field: Field) -> Iterator[str]:
    if field.choices:
        yield f"enum {field.name}_e {{"
        yield from _inside(f"{name} = {field.bits}'h{value:x};" for name, value in field.choices)
        yield "};"
    yield "field {"
    yield f"    desc = {_text(field.doc)};"
    yield from _inside(f"{item};" for item in _PROPERTIES[field.access])
    if field.access is Access.PULSE and field.bits == 1:
        yield "    singlepulse;"
    if field.choices:
        yield f"    encode = {field.name}_e;"
    # Hardware drives a read-only field from the first cycle on, so the field has no reset value of its own.
    reset = "" if field.access is Access.RO else f" = {field.bits}'h{field.reset:x}"
    yield f"}} {field.name}[{field.msb}:{field.lsb}]{reset};"


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def uvm_file(name: str) -> str:
    """The file of the model."""
    return f"{name}_uvm.sv"


def uvm_model(rdl: str, name: str) -> str | None:
    """The package ``NAME_uvm`` in SystemVerilog; None where PeakRDL is not installed."""
    try:
        from peakrdl_uvm import UVMExporter
        from systemrdl import RDLCompiler
        from systemrdl.node import Node
    except ImportError:
        return None

    class Exporter(UVMExporter):
        """Registers and fields keep their names, but for those that are words of the language."""

        def _get_inst_name(self, node: Node) -> str:
            return legal_name(node.inst_name, ())

    with tempfile.TemporaryDirectory(prefix="cdma-") as folder:
        source, target = Path(folder) / "registers.rdl", Path(folder) / uvm_file(name)
        source.write_text(rdl, encoding="utf-8")
        compiler = RDLCompiler()
        compiler.compile_file(str(source))
        Exporter().export(compiler.elaborate().top, str(target))
        return target.read_text(encoding="utf-8")


_OPENING = """\
/*
 * {name}_regs.h: registers, descriptors and completions of the engine.
 *
 * Generated from the description that the hardware is made from; do not edit.
 * An offset counts from the base of the register's block. Offsets, masks and
 * shifts are the same for every engine; the reset values (and with them the
 * capability registers) are those of the configuration this file is for.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef {guard}
#define {guard}

#include <stddef.h>
#include <stdint.h>
"""


def c_header(registers: RegisterMap, name: str = "cdma") -> str:
    """The text of ``NAME_regs.h``, ending with a newline.

    Its macros have the same names for every engine, so that a file of C includes one such header.
    """
    prefix = registers.name
    guard = f"{prefix}_regs_h".upper()
    lines = [_OPENING.format(name=name, guard=guard)]
    lines += [f"/* Values of {prefix}_descriptor's mode. */"]
    lines += [_define(f"{prefix}_mode_{mode.name}", f"{mode.value}u") for mode in Mode]
    lines += ["", "/* How a descriptor ended. */"]
    lines += [_define(f"{prefix}_status_{status.name}", f"{status.value}u") for status in Status]
    for name, record, shared in (("descriptor", DESCRIPTOR, "flags"), ("completion", COMPLETION, "result")):
        lines += ["", *_struct(f"{prefix}_{name}", record, shared)]
    for block in registers.blocks:
        lines += ["", *_c_block(block, prefix)]
    lines += ["", f"#endif /* {guard} */"]
    return "\n".join(lines) + "\n"


def _struct(name: str, record: tuple[RecordField, ...], shared: str) -> Iterator[str]:
    """A record as a struct of 32- and 64-bit members, with masks for the fields of the member ``shared``."""
    parts = record_parts(record, shared)
    # The member of several fields has the place of the first, and one of 64 bits that of its lower half.
    members: dict[str, RecordPart] = {}
    for part in parts:
        members.setdefault(shared if part.register == shared else part.record.name, part)

    yield f"/* {RECORD_BYTES} bytes of memory, little-endian, {RECORD_BYTES}-byte aligned. */"
    yield f"struct {name} {{"
    word = 0
    for member, part in members.items():
        yield from _reserved(part.word - word)
        bits, doc = (
            (REGISTER_BITS, "See the masks below.")
            if member == shared
            else (part.record.bits, part.record.doc)
        )
        yield f"    uint{bits}_t {member}; /* {_comment(doc)} */"
        word = part.word + bits // REGISTER_BITS
    yield from _reserved(RECORD_BYTES // REGISTER_BYTES - word)
    yield "};"
    for part in parts:
        if part.register == shared:
            yield f"/* {_comment(part.record.doc)} */"
            yield from _mask(f"{name}_{part.field}", ((1 << part.bits) - 1) << part.lsb, part.lsb)
    yield _assert(f"{name}_size", f"sizeof(struct {name}) == {RECORD_BYTES}u")
    for member, part in members.items():
        yield _assert(
            f"{name}_{member}", f"offsetof(struct {name}, {member}) == {part.word * REGISTER_BYTES}u"
        )


def _reserved(words: int) -> Iterator[str]:
    if words:
        yield f"    uint32_t reserved[{words}]; /* Must be 0. */"


def _c_block(block: Block, prefix: str) -> Iterator[str]:
    yield f"/* {block.name}: {_comment(block.doc)} */"
    for instance, base in block.instances:
        yield _define(f"{prefix}_{instance}_base", f"{base:#05x}u")
    for register in block.registers:
        yield ""
        yield from _c_register(register, f"{prefix}_{block.name}_{register.name}", block.name)


def _c_register(register: Register, name: str, block: str) -> Iterator[str]:
    yield f"/* {block}.{register.name}: {_comment(register.doc)} */"
    if not register.count:
        yield _define(name, f"{register.offset:#05x}u")
    else:
        yield f"#define {name.upper()}(k) ({register.offset:#05x}u + {REGISTER_BYTES}u * (k))"
        yield _define(f"{name}_count", f"{register.count}u")
    yield _define(f"{name}_reset", f"{register.reset:#010x}u")
    for field in register.fields:
        yield from _mask(f"{name}_{field.name}", field.mask, field.lsb)
        for choice, value in field.choices:
            yield _define(f"{name}_{field.name}_{choice}", f"{value}u")


def _mask(name: str, mask: int, shift: int) -> Iterator[str]:
    yield _define(f"{name}_mask", f"{mask:#010x}u")
    yield _define(f"{name}_shift", f"{shift}u")


def _define(name: str, value: str) -> str:
    return f"#define {name.upper()} {value}"


def _assert(name: str, condition: str) -> str:
    # C99 has no static_assert; an array of negative size is refused by every C and C++.
    return f"typedef char {name}_assert[({condition}) ? 1 : -1];"


def _comment(text: str) -> str:
    return text.replace("*/", "* /")
