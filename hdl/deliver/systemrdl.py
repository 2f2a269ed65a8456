"""The register map as SystemRDL 2.0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
    head = (
        f"desc = {_text(registers.doc)};",
        "default regwidth = 32;",
        "default accesswidth = 32;",
        "littleendian;",
        "lsb0;",
    )
    lines = [*head, *(line for block in registers.blocks for line in ("", *_block(block)))]
    return "\n".join((f"addrmap {name} {{", *_inside(lines), "};")) + "\n"


def _inside(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"    {line}" if line else ""


def _block(block: Block) -> Iterator[str]:
    yield f"regfile {block.name}_t {{"
    yield from _inside((f"name = {_text(block.name)};", f"desc = {_text(block.doc)};"))
    for register in block.registers:
        yield ""
        yield from _inside(_register(register))
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


def _register(register: Register) -> Iterator[str]:
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
