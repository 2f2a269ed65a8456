"""Descriptors and completions cut into registers of 32 bits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from cdma.hdl.spec.records import RecordField

from .description import REGISTER_BITS, REGISTER_BYTES, Access, Field, Register

__all__ = ["RecordPart", "record_parts", "record_registers"]


@dataclass(frozen=True)
class RecordPart:
    """Bits of a descriptor or completion in registers that have the record's layout.

    ``record``, ``start``
        The record's field, and the lowest of its bits that is in this part.
    ``word``
        The number of the register, counted from the start of the record.
    ``lsb``, ``bits``
        The lowest bit in the register, and the number of bits.
    ``register``, ``field``
        The names of the register and of the field in it.
    """

    record: RecordField
    start: int
    word: int
    lsb: int
    bits: int
    register: str
    field: str


def record_parts(record: tuple[RecordField, ...], shared: str) -> list[RecordPart]:
    """All of a record but its reserved fields, cut into registers.

    ``shared`` names the register that has several fields.
    """
    parts = []
    first = 0
    for field in record:
        end = first + field.bits
        for word in () if field.reserved else range(first // REGISTER_BITS, -(-end // REGISTER_BITS)):
            low = max(first, word * REGISTER_BITS)
            bits = min(end, (word + 1) * REGISTER_BITS) - low
            if bits < REGISTER_BITS:
                register, name = shared, field.name
            else:
                half = "" if field.bits == REGISTER_BITS else "_high" if low > first else "_low"
                register, name = field.name + half, "value"
            parts.append(RecordPart(field, low - first, word, low % REGISTER_BITS, bits, register, name))
        first = end
    return parts


def record_registers(
    record: tuple[RecordField, ...],
    base: int,
    shared: str,
    access: Access,
    *,
    prefix: str = "",
    locked_by: str = "",
) -> list[Register]:
    """Registers with the layout of a record from the offset ``base`` on, kept in the register file's memory."""
    registers = []
    for word, group in groupby(record_parts(record, shared), lambda part: part.word):
        parts = list(group)
        fields = tuple(
            Field(part.field, part.lsb, part.bits, access, part.record.doc, in_memory=True) for part in parts
        )
        doc = parts[0].record.doc if len(parts) == 1 else f"{', '.join(field.name for field in fields)}."
        name, offset = f"{prefix}{parts[0].register}", base + word * REGISTER_BYTES
        registers.append(Register(name, offset, doc, fields, locked_by=locked_by))
    return registers
