"""The register map as preprocessor constants of C."""

from __future__ import annotations

from collections.abc import Iterator

from .register_description import Block, Field, Register, RegisterMap

__all__ = ["register_constants"]


def register_constants(registers: RegisterMap, prefix: str) -> list[str]:
    """``#define`` lines: a base per instance; per register its offset in the block and its reset value; per field
    mask and shift in place, and the values with a meaning."""
    lines: list[str] = []
    for block in registers.blocks:
        lines += ["", f"/* {block.name}: {_comment(block.doc)} */"]
        for instance, base in block.instances:
            lines.append(_define(f"{prefix}_{instance}_base", f"{base:#05x}u"))
        for register in block.registers:
            lines += ["", *_register(register, f"{prefix}_{block.name}", block)]
    return lines


def _register(register: Register, prefix: str, block: Block) -> Iterator[str]:
    name = f"{prefix}_{register.name}"
    yield f"/* {block.name}.{register.name}: {_comment(register.doc)} */"
    if register.count == 1:
        yield _define(name, f"{register.offset:#05x}u")
    else:
        yield _define(
            f"{name}(k)".upper().replace("(K)", "(k)"), f"({register.offset:#05x}u + 4u * (k))", upper=False
        )
        yield _define(f"{name}_count", f"{register.count}u")
    yield _define(f"{name}_reset", f"{register.reset:#010x}u")
    for field in register.fields:
        yield from _field(field, f"{name}_{field.name}")


def _field(field: Field, name: str) -> Iterator[str]:
    yield _define(f"{name}_mask", f"{field.mask:#010x}u")
    yield _define(f"{name}_shift", f"{field.lsb}u")
    for choice, value in field.choices:
        yield _define(f"{name}_{choice}", f"{value}u")


def _define(name: str, value: str, upper: bool = True) -> str:
    return f"#define {name.upper() if upper else name} {value}"


def _comment(text: str) -> str:
    return text.replace("*/", "* /")
