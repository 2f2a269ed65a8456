"""Descriptors and completions in memory, as a part of the register document."""

from __future__ import annotations

from collections.abc import Iterable

from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, RECORD_BYTES, Mode, RecordField, Status

__all__ = ["record_document"]


def record_document() -> str:
    """The tables of both records, ending with a newline."""
    lines = [
        "## Records in memory",
        "",
        f"A descriptor and a completion have {RECORD_BYTES} bytes each, little-endian. In a ring they follow one another.",
        "",
        "### Descriptor",
        "",
        *_table(DESCRIPTOR),
        "",
        *_choices("mode", Mode),
        "",
        "### Completion",
        "",
        *_table(COMPLETION),
        "",
        *_choices("status", Status),
    ]
    return "\n".join(lines) + "\n"


def _table(record: tuple[RecordField, ...]) -> Iterable[str]:
    yield "| bytes | bits | field | |"
    yield "|---|---|---|---|"
    first = 0
    for field in record:
        end = first + field.bits
        last_byte = (end - 1) // 8
        bytes_ = str(field.byte) if field.byte == last_byte else f"{field.byte} to {last_byte}"
        low = first - 8 * field.byte
        bits = str(low) if field.bits == 1 else f"{low + field.bits - 1}:{low}"
        yield f"| {bytes_} | {bits} | {field.name} | {field.doc} |"
        first = end


def _choices(name: str, choices: type[Mode] | type[Status]) -> Iterable[str]:
    yield f"| {name} | |"
    yield "|---|---|"
    for choice in choices:
        yield f"| {int(choice)} | {choice.name.lower()} |"
