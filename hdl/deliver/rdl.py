"""The register map as SystemRDL 2.0."""

from __future__ import annotations

from collections.abc import Iterator

from cdma.hdl.spec.registers.description import Access, Block, Field, Register, RegisterMap

__all__ = ["register_rdl"]

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
    lines = [
        f"addrmap {name} {{",
        f"    desc = {_text(registers.doc)};",
        "    default regwidth = 32;",
        "    default accesswidth = 32;",
        "    littleendian;",
        "    lsb0;",
    ]
    for block in registers.blocks:
        lines += ["", *("    " + line if line else "" for line in _block(block))]
    lines.append("};")
    return "\n".join(lines) + "\n"


def _block(block: Block) -> Iterator[str]:
    yield f"regfile {block.name}_t {{"
    yield f"    name = {_text(block.name)};"
    yield f"    desc = {_text(block.doc)};"
    for register in block.registers:
        yield ""
        for line in _register(register):
            yield f"    {line}"
    locks = [
        f"    {register.name}{index}.{field.name}->swwel = {register.locked_by};"
        for register in block.registers
        if register.locked_by
        for index in ([f"[{k}]" for k in range(register.count)] if register.count else [""])
        for field in register.fields
        if field.access.writable
    ]
    yield from [""] * bool(locks)
    yield from locks
    yield "};"
    for instance, base in block.instances:
        yield f"{block.name}_t {instance} @ {base:#x};"


def _register(register: Register) -> Iterator[str]:
    yield "reg {"
    yield f"    desc = {_text(register.doc)};"
    for field in register.fields:
        for line in _field(field):
            yield f"    {line}"
    array = f"[{register.count}]" if register.count else ""
    yield f"}} {register.name}{array} @ {register.offset:#x};"


def _field(field: Field) -> Iterator[str]:
    if field.choices:
        yield f"enum {field.name}_e {{"
        for name, value in field.choices:
            yield f"    {name} = {field.bits}'h{value:x};"
        yield "};"
    yield "field {"
    yield f"    desc = {_text(field.doc)};"
    for item in _PROPERTIES[field.access]:
        yield f"    {item};"
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
