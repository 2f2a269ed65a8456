"""Descriptors and completions as objects, and as the 64 bytes that they take in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from cdma.base.errors import ParameterError
from cdma.hdl.spec.owner import Owner
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, RECORD_BYTES, Mode, RecordField, Status
from cdma.hdl.spec.shape import Shape
from cdma.hdl.spec.shape_record import SHAPE_RECORD, shape_values

__all__ = ["Completion", "Descriptor", "pack", "unpack"]


def pack(record: tuple[RecordField, ...], values: Mapping[str, int]) -> bytes:
    """Returns the record as it lies in memory; fields without a value are 0."""
    if unknown := set(values) - {field.name for field in record}:
        raise ParameterError(f"a record is given a value of {min(unknown)!r}, which is none of its fields")
    number, lsb = 0, 0
    for field in record:
        value = values.get(field.name, 0)
        if not 0 <= value < 1 << field.bits:
            raise ParameterError(
                f"{field.name} is {value!r}; the field has {field.bits} bits, so 0 to {(1 << field.bits) - 1}"
            )
        number |= value << lsb
        lsb += field.bits
    return number.to_bytes(RECORD_BYTES, "little")


def unpack(record: tuple[RecordField, ...], raw: bytes | bytearray | memoryview) -> dict[str, int]:
    """Returns all fields of a record, the reserved ones too."""
    if len(raw) != RECORD_BYTES:
        raise ParameterError(f"a record has {RECORD_BYTES} bytes; these are {len(raw)}")
    number = int.from_bytes(raw, "little")
    values = {}
    for field in record:
        values[field.name] = number & ((1 << field.bits) - 1)
        number >>= field.bits
    return values


@dataclass(frozen=True)
class Descriptor:
    """One transfer; the fields are those of :data:`cdma.hdl.spec.records.DESCRIPTOR`.

    ``shape``
        Says what lies in device memory, from the source of an offload or the destination of a prefetch on; ``length`` is the
        shape's.
    ``pages``
        The address of the list of host pages after the first one, in which the destination of an offload or the source of a
        prefetch is; 0: host memory is one run of bytes.
    ``owner``
        Whose the transfer is; None: nobody's, which is stream 0.
    """

    source: int
    destination: int
    length: int
    capacity: int
    mode: Mode = Mode.ZVC
    compressed_length: int = 0
    tag: int = 0
    interrupt: bool = False
    check_crc: bool = False
    crc: int = 0
    step: int = 0
    shape: Shape | None = None
    pages: int = 0
    owner: Owner | None = None

    def pack(self) -> bytes:
        """Returns the descriptor as it lies in memory, with the extension that says its shape, if it has one."""
        values = {
            field.name: int(getattr(self, field.name))
            for field in fields(self)
            if field.name not in ("shape", "pages", "owner")
        }
        if self.owner is not None:
            values |= {"owned": 1, "owner": self.owner.word}
        values |= {"pages_low": self.pages & 0xFFFFFFFF, "pages_high": self.pages >> 32}
        if self.shape is None:
            return pack(DESCRIPTOR, values)
        return pack(DESCRIPTOR, values | {"shaped": 1}) + pack(SHAPE_RECORD, shape_values(self.shape))


@dataclass(frozen=True)
class Completion:
    """How a transfer ended; the fields are those of :data:`cdma.hdl.spec.records.COMPLETION`."""

    tag: int
    status: Status
    bytes_read: int = 0
    bytes_written: int = 0
    literals: int = 0
    cycles: int = 0
    address: int = 0
    crc: int = 0
    range_count: int = 0
    range_first: int = 0

    @classmethod
    def unpack(cls, raw: bytes | bytearray | memoryview) -> Completion:
        """Returns the completion that lies in memory."""
        values = unpack(COMPLETION, raw)
        numbers = {field.name: values[field.name] for field in fields(cls) if field.name != "status"}
        return cls(status=Status(values["status"]), **numbers)

    def pack(self, phase: int) -> bytes:
        """Returns the completion as it lies in memory, written in a pass of the ring with that phase."""
        values = {field.name: int(getattr(self, field.name)) for field in fields(self)}
        return pack(COMPLETION, values | {"phase": phase})
