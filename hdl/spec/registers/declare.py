"""Helpers that declare registers: blocks, fields, parts of records, conditions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import MEMORY_CODES, PROTECTIONS
from cdma.hdl.spec.records import RecordField

from .description import REGISTER_BITS, REGISTER_BYTES, Access, Field, Register


def constant(name: str, lsb: int, bits: int, value: int, doc: str) -> Field:
    """A field that always reads as ``value``."""
    return Field(name, lsb, bits, Access.CONSTANT, doc, value)


def ro(
    name: str,
    lsb: int,
    doc: str,
    bits: int = 1,
    *,
    choices: tuple[tuple[str, int], ...] = (),
    in_memory: bool = False,
) -> Field:
    """A field that hardware drives."""
    return Field(name, lsb, bits, Access.RO, doc, choices=choices, in_memory=in_memory)


def rw(name: str, lsb: int, doc: str, bits: int = 1, *, reset: int = 0, in_memory: bool = False) -> Field:
    """A field that software writes and hardware reads."""
    return Field(name, lsb, bits, Access.RW, doc, reset, in_memory=in_memory)


def pulse(name: str, lsb: int, doc: str) -> Field:
    """A bit that acts once when a one is written."""
    return Field(name, lsb, 1, Access.PULSE, doc)


def w1c(name: str, lsb: int, doc: str) -> Field:
    """A bit that hardware sets and that writing a one clears."""
    return Field(name, lsb, 1, Access.W1C, doc)


def lock(name: str, lsb: int, doc: str) -> Field:
    """A bit that writing a one sets until the hardware is reset."""
    return Field(name, lsb, 1, Access.LOCK, doc)


def register(
    name: str, offset: int, doc: str, *fields: Field, count: int = 0, locked_by: str = ""
) -> Register:
    """A register of ``fields``, or an array of ``count`` of them."""
    return Register(name, offset, doc, fields, count, locked_by)


def number(
    name: str, offset: int, access: Access, doc: str, bits: int = REGISTER_BITS, *, in_memory: bool = False
) -> Register:
    """A register that is one number."""
    return Register(name, offset, doc, (Field("value", 0, bits, access, doc, in_memory=in_memory),))


def address_pair(
    name: str, offset: int, doc: str, bits: int, *low: Field, high_reset: int = 0, locked_by: str = ""
) -> tuple[Register, Register]:
    """The two registers of an address of ``bits`` bits on a port, kept in memory.

    ``low`` are the fields of the lower half; ``high_reset`` is what the upper half resets to.
    """
    if bits > REGISTER_BITS:
        high = rw("value", 0, f"{doc} Bits above 31.", bits - REGISTER_BITS, reset=high_reset, in_memory=True)
    else:
        high = constant("value", 0, REGISTER_BITS, 0, "This port has no address bits above 31.")
    return (
        Register(f"{name}_low", offset, f"{doc} Bits 31 to 0.", low, locked_by=locked_by),
        Register(
            f"{name}_high", offset + REGISTER_BYTES, f"{doc} Bits 63 to 32.", (high,), locked_by=locked_by
        ),
    )


#: Bits of the number of refused accesses.
DENIED_BITS = 15
#: Bits of the numbers of words that were wrong.
FLIPS_BITS = 16


def guarded(config: EngineConfig) -> bool:
    """Whether an engine has any of the guards that the register ``guards`` tells of."""
    return (
        config.register_protection != PROTECTIONS[0] or config.coded_memories or config.records.owner_bits > 0
    )


def guard_registers(config: EngineConfig, *, every: bool) -> tuple[Register, ...]:
    """The registers of the guards that the engine has, or with ``every`` of all."""
    found: list[Register] = []
    if guarded(config) or every:
        found.append(_guards(config, every=every))
    if config.register_protection != PROTECTIONS[0] or every:
        found.append(_DENIED)
    if config.coded_memories or every:
        found.append(_FLIPS)
    return tuple(found)


def guard_commands(config: EngineConfig, *, every: bool) -> tuple[Field, ...]:
    """What `command` does for these."""
    found: list[Field] = []
    if config.register_protection != PROTECTIONS[0] or every:
        found.append(pulse("clear_denied", 2, "Sets `denied` to 0, and the next refused access is recorded."))
    if config.coded_memories or every:
        found.append(pulse("clear_flips", 3, "Sets `flips` to 0."))
    return tuple(found)


def _guards(config: EngineConfig, *, every: bool) -> Register:
    choices, codes = (
        ", ".join(f"{number} {name}" for number, name in enumerate(names))
        for names in (PROTECTIONS, MEMORY_CODES)
    )
    return register(
        "guards",
        0x2C,
        "What else is checked; there where `host_port.guarded` is 1.",
        constant(
            "register_protection",
            0,
            2,
            PROTECTIONS.index(config.register_protection),
            f"What an access to registers must be: {choices}. Any other is answered SLVERR and does nothing.",
        ),
        constant(
            "memories_protect",
            2,
            2,
            MEMORY_CODES.index(config.memories_protect),
            f"The checks of words in memories: {codes}.",
        ),
        *(_owners(config) if config.records.owner_bits or every else ()),
    )


def _owners(config: EngineConfig) -> tuple[Field, ...]:
    return (
        constant("stream_id_bits", 4, 4, config.stream_id_bits, "Bits of the stream ID of a descriptor."),
        constant("substream_id_bits", 8, 5, config.substream_id_bits, "Bits of its substream ID."),
    )


_DENIED = register(
    "denied",
    0x30,
    "Accesses without the right, since the last `command.clear_denied` or reset of the hardware; a soft reset "
    "leaves them. The first one is kept.",
    ro("address", 0, "Its address.", 12),
    ro("prot", 12, "Its AxPROT.", 3),
    ro("write", 15, "It was a write."),
    ro(
        "count",
        16,
        "How many there were; stays at the largest number. While 0, the other fields mean nothing.",
        DENIED_BITS,
    ),
)

_FLIPS = register(
    "flips",
    0x34,
    "Words in memories that were found wrong, since the last `command.clear_flips` or reset of the hardware; a soft reset "
    "leaves them. A word counts once for as long as a reader has it. Each number stays at its largest.",
    ro("corrected", 0, "One bit was wrong and was put right.", FLIPS_BITS),
    ro(
        "lost",
        16,
        "More were wrong, or one that cannot be put right; `MEMORY` says it of descriptors.",
        FLIPS_BITS,
    ),
)


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
