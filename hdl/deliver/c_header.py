"""The register map, descriptors and completions as a C header, for C99 and C++11."""

from __future__ import annotations

from collections.abc import Iterator

from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, RECORD_BYTES, Mode, RecordField, Status
from cdma.hdl.spec.registers.declare import RecordPart, record_parts
from cdma.hdl.spec.registers.description import REGISTER_BITS, REGISTER_BYTES, Block, Register, RegisterMap

__all__ = ["c_header"]

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
    for name, record, shared in (
        ("descriptor", DESCRIPTOR, "flags"),
        ("completion", COMPLETION, "result"),
    ):
        lines += ["", *_struct(f"{prefix}_{name}", record, shared)]
    for block in registers.blocks:
        lines += ["", *_block(block, prefix)]
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


def _block(block: Block, prefix: str) -> Iterator[str]:
    yield f"/* {block.name}: {_comment(block.doc)} */"
    for instance, base in block.instances:
        yield _define(f"{prefix}_{instance}_base", f"{base:#05x}u")
    for register in block.registers:
        yield ""
        yield from _register(register, f"{prefix}_{block.name}_{register.name}", block.name)


def _register(register: Register, name: str, block: str) -> Iterator[str]:
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
