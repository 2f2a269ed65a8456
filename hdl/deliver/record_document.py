"""Descriptors and completions in memory, as a part of the register document."""

from __future__ import annotations

from collections.abc import Iterator

from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, RECORD_BYTES, Mode, RecordField, Status
from cdma.hdl.spec.shape_record import SHAPE_RECORD

from .document import Heading, Paragraph, Part, Table
from .register_drawing import bit_range

__all__ = ["record_document"]


def record_document() -> list[Part]:
    """The tables of both records."""
    return [
        Heading("Records in memory"),
        Paragraph(
            f"A descriptor and a completion have {RECORD_BYTES} bytes each, little-endian. "
            "In a ring they follow one another."
        ),
        Heading("Descriptor", 3),
        _fields(DESCRIPTOR),
        _choices("mode", Mode),
        Heading("Extension of a descriptor with a shape", 3),
        _fields(SHAPE_RECORD),
        Heading("Completion", 3),
        _fields(COMPLETION),
        _choices("status", Status),
    ]


def _fields(record: tuple[RecordField, ...]) -> Table:
    return Table(("bytes", "bits", "field", ""), list(_rows(record)))


def _rows(record: tuple[RecordField, ...]) -> Iterator[tuple[str, ...]]:
    first = 0
    for field in record:
        end = first + field.bits
        low, last = first - 8 * field.byte, (end - 1) // 8
        place = str(field.byte) if field.byte == last else f"{field.byte} to {last}"
        yield place, bit_range(low + field.bits - 1, low), field.name, field.doc
        first = end


def _choices(name: str, choices: type[Mode] | type[Status]) -> Table:
    return Table((name, ""), [(str(int(choice)), choice.name.lower()) for choice in choices])
