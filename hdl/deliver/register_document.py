"""The register map as a Markdown document, with the bit fields drawn."""

from __future__ import annotations

from collections.abc import Iterator

from cdma.hdl.spec.registers.description import (
    REGISTER_BITS,
    REGISTER_BYTES,
    Access,
    Block,
    Field,
    Register,
    RegisterMap,
)

__all__ = ["register_document"]

_WIDTH = 100

_ACCESS = {
    Access.CONSTANT: "constant: reads as its reset value",
    Access.RO: "read-only: hardware drives it",
    Access.RW: "read and write",
    Access.PULSE: "write ones: acts once; reads as 0",
    Access.W1C: "hardware sets it, writing ones clears it",
    Access.LOCK: "writing a one sets it until the engine is reset",
}


def register_document(registers: RegisterMap) -> str:
    """The document, ending with a newline."""
    lines = [f"# {registers.name}: registers", "", registers.doc, "", "| access | meaning |", "|---|---|"]
    lines += [f"| {access.value} | {meaning} |" for access, meaning in _ACCESS.items()]
    lines += ["", "## Address map", "", "| base | size | instance | block |", "|---|---|---|---|"]
    placed = sorted(
        (base, instance, block.name) for block in registers.blocks for instance, base in block.instances
    )
    for base, instance, name in placed:
        lines.append(
            f"| `{base:#05x}` | `{registers.block(name).span:#x}` | {instance} | [{name}](#{name}) |"
        )
    for block in registers.blocks:
        lines += ["", *_block(block)]
    return "\n".join(lines) + "\n"


def _block(block: Block) -> Iterator[str]:
    yield f"## {block.name}"
    yield ""
    yield block.doc
    yield ""
    yield "| offset | register | reset | |"
    yield "|---|---|---|---|"
    for register in block.registers:
        yield f"| `{_offset(register)}` | [{_title(register)}](#{block.name}{register.name}) | " + (
            f"`{register.reset:#010x}` | {_first_sentence(register.doc)} |"
        )
    for register in block.registers:
        yield ""
        yield from _register(block, register)


def _register(block: Block, register: Register) -> Iterator[str]:
    yield f'<a id="{block.name}{register.name}"></a>'
    yield ""
    yield f"### {block.name}.{_title(register)} at `{_offset(register)}`"
    yield ""
    yield register.doc
    if register.locked_by:
        yield ""
        yield f"Locked by `{register.locked_by}`."
    yield ""
    yield "```text"
    yield from _drawing(register)
    yield "```"
    yield ""
    yield "| bits | field | access | reset | |"
    yield "|---|---|---|---|---|"
    for field in reversed(register.fields):
        access = field.access.value
        yield f"| {_bits(field)} | {field.name} | {access} | `{field.reset:#x}` | {_meaning(field)} |"


def _meaning(field: Field) -> str:
    if not field.choices:
        return field.doc
    return f"{field.doc} " + ", ".join(f"{value} {name}" for name, value in field.choices)


def _title(register: Register) -> str:
    return register.name if not register.count else f"{register.name}[{register.count}]"


def _offset(register: Register) -> str:
    return f"{register.offset:#05x}" + (f" + {REGISTER_BYTES}·k" if register.count else "")


def _bits(field: Field) -> str:
    return str(field.lsb) if field.bits == 1 else f"{field.msb}:{field.lsb}"


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".") + "."


def _drawing(register: Register) -> list[str]:
    """The register as boxes, its highest bit on the left, in rows that fit the width of the page."""
    cells: list[tuple[str, str]] = []
    above = REGISTER_BITS
    for field in sorted(register.fields, key=lambda field: -field.lsb):
        if field.msb + 1 < above:
            cells.append((_range(above - 1, field.msb + 1), ""))
        cells.append((_range(field.msb, field.lsb), field.name))
        above = field.lsb
    if above:
        cells.append((_range(above - 1, 0), ""))

    rows: list[list[tuple[str, str]]] = [[]]
    width = 1
    for bits, name in cells:
        cell = max(len(bits), len(name)) + 3
        if width + cell > _WIDTH and rows[-1]:
            rows.append([])
            width = 1
        rows[-1].append((bits, name))
        width += cell
    lines = []
    for row in rows:
        widths = [max(len(bits), len(name)) + 2 for bits, name in row]
        rule = "+" + "+".join("-" * width for width in widths) + "+"
        lines.append(
            " " + " ".join(bits.center(width) for (bits, _), width in zip(row, widths, strict=True)).rstrip()
        )
        lines.append(rule)
        lines.append(
            "|" + "|".join(name.center(width) for (_, name), width in zip(row, widths, strict=True)) + "|"
        )
        lines.append(rule)
    return lines


def _range(msb: int, lsb: int) -> str:
    return str(msb) if msb == lsb else f"{msb}..{lsb}"
