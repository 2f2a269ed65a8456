"""How registers are declared: as tables, as the halves of an address, and with the layout of a record."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from cdma.hdl.spec.records import RecordField, only_if, table_rows

from .description import REGISTER_BITS, REGISTER_BYTES, Access, Field, Register

#: Bits of the number of refused accesses.
DENIED_BITS = 15


def registers(table: str, choices: tuple[tuple[str, int], ...] = ()) -> tuple[Register, ...]:
    """Registers from a table, with a line for each register and below it one for each of its fields.

    ``NAME OFFSET [count=N] [locked_by=REGISTER.FIELD] | DOC``
        A register. With ``ACCESS BITS [memory]`` after the offset it is one number.
    ``ACCESS NAME LSB [BITS] [reset=N] [memory] [choices] | DOC``
        A field, of one bit without ``BITS``. ``memory`` keeps it in memory; ``choices`` are the argument.

    See :func:`.table_rows` for continued and absent lines.
    """
    found: list[tuple[str, int, str, list[Field], int, str]] = []
    for head, doc in table_rows(table):
        options = dict(word.split("=") for word in head if "=" in word)
        first, second, *words = (word for word in head if "=" not in word)
        if second.startswith("0x"):
            count, locked_by = int(options.get("count", 0)), options.get("locked_by", "")
            found.append((first, int(second, 16), doc, [], count, locked_by))
            if not words:
                continue
            first, second, words = words[0], "value", ["0", *words[1:]]
        bits = next((int(word) for word in words[1:] if word.isdigit()), 1)
        offered, reset = choices if "choices" in words else (), int(options.get("reset", 0))
        found[-1][3].append(
            Field(second, int(words[0]), bits, Access(first), doc, reset, offered, "memory" in words)
        )
    return tuple(Register(*each[:3], tuple(each[3]), *each[4:]) for each in found)


def numbered(names: tuple[str, ...]) -> str:
    """Names with the numbers by which a field has them."""
    return ", ".join(f"{number} {name}" for number, name in enumerate(names))


def address_pair(
    name: str, offset: int, doc: str, bits: int, low: str, *, high_reset: int = 0, locked_by: str = ""
) -> tuple[Register, ...]:
    """The two registers of an address of ``bits`` bits on a port, kept in memory.

    ``low`` has the lines of the fields of the lower half; ``high_reset`` is what the upper half resets to.
    """
    locked = f"locked_by={locked_by}" if locked_by else ""
    wide = bits > REGISTER_BITS
    return registers(f"""
{name}_low {offset:#x} {locked} | {doc} Bits 31 to 0.
  {low}
{name}_high {offset + REGISTER_BYTES:#x} {locked} | {doc} Bits 63 to 32.
  {only_if(wide)}rw value 0 {bits - REGISTER_BITS} reset={high_reset} memory | {doc} Bits above 31.
  {only_if(not wide)}constant value 0 {REGISTER_BITS} | This port has no address bits above 31.
""")


@dataclass(frozen=True)
class RecordPart:
    """Bits of a descriptor or completion in registers that have the record's layout.

    ``record``, ``start``: The record's field, and the lowest of its bits that is in this part.
    ``word``: The number of the register, counted from the start of the record.
    ``lsb``, ``bits``: The lowest bit in the register, and the number of bits.
    ``register``, ``field``: The names of the register and of the field in it.
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
