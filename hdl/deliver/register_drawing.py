"""The bit fields of a register, drawn with characters."""

from __future__ import annotations

from collections.abc import Iterator

from cdma.hdl.spec.registers.description import REGISTER_BITS, Register

__all__ = ["bit_range", "register_drawing"]

_WIDTH = 100


def bit_range(msb: int, lsb: int, mark: str = ":") -> str:
    """The bits from ``msb`` to ``lsb`` as one reads them."""
    return str(msb) if msb == lsb else f"{msb}{mark}{lsb}"


def register_drawing(register: Register) -> str:
    """The register as boxes, its highest bit on the left, in rows that fit the width of the page."""
    rows: list[list[tuple[str, str, int]]] = [[]]
    for bits, name in _cells(register):
        cell = max(len(bits), len(name)) + 2
        if rows[-1] and 1 + sum(width + 1 for _, _, width in rows[-1]) + cell + 1 > _WIDTH:
            rows.append([])
        rows[-1].append((bits, name, cell))
    return "\n".join(line for row in rows for line in _lines(row))


def _cells(register: Register) -> Iterator[tuple[str, str]]:
    """Bits and name of each field, and of the bits between fields without a name."""
    above = REGISTER_BITS
    for field in sorted(register.fields, key=lambda field: -field.lsb):
        if field.msb + 1 < above:
            yield bit_range(above - 1, field.msb + 1, ".."), ""
        yield bit_range(field.msb, field.lsb, ".."), field.name
        above = field.lsb
    if above:
        yield bit_range(above - 1, 0, ".."), ""


def _lines(row: list[tuple[str, str, int]]) -> Iterator[str]:
    rule = f"+{'+'.join('-' * width for _, _, width in row)}+"
    yield " " + " ".join(bits.center(width) for bits, _, width in row).rstrip()
    yield rule
    yield f"|{'|'.join(name.center(width) for _, name, width in row)}|"
    yield rule
