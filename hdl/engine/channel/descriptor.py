"""Descriptors and completions as Amaranth layouts; what the fields mean stands in :mod:`~cdma.hdl.spec.records`."""

from amaranth.hdl import Const, Format, Shape, ShapeCastable, Value, unsigned
from amaranth.lib import data

from cdma.hdl.spec.records import RecordField, RecordOptions, Status, completion_fields, descriptor_fields

__all__ = ["Completion", "Descriptor", "Request", "StatusShape"]


class _StatusShape(ShapeCastable):
    """A :class:`~cdma.hdl.spec.records.Status` in a byte: a plain value, whose numbers have names in the Verilog."""

    def as_shape(self) -> Shape:
        return unsigned(8)

    def __call__(self, value: Value) -> Value:
        return value

    def const(self, init: int | None) -> Const:
        return Const(init or 0, 8)

    def from_bits(self, raw: int) -> Status:
        return Status(raw)

    def format(self, value: Value, spec: str) -> Format.Enum:
        return Format.Enum(value, Status, name="Status")


StatusShape = _StatusShape()


def _members(record: tuple[RecordField, ...]) -> dict[str, int | ShapeCastable]:
    return {field.name: StatusShape if field.name == "status" else field.bits for field in record}


class Descriptor(data.StructLayout):
    """64 bytes, as they lie in memory, of an engine with ``options``."""

    def __init__(self, options: RecordOptions) -> None:
        super().__init__(_members(descriptor_fields(options)))


class Completion(data.StructLayout):
    """64 bytes, as they lie in memory, of an engine with ``options``."""

    def __init__(self, options: RecordOptions) -> None:
        super().__init__(_members(completion_fields(options)))


class Request(data.StructLayout):
    """What a channel takes: a descriptor. Where it could not be fetched, ``fault`` is the
    :class:`~cdma.hdl.spec.records.Status` of that and ``address`` is where it lies; logic that drives a channel itself
    leaves both at 0."""

    def __init__(self, options: RecordOptions) -> None:
        super().__init__({"descriptor": Descriptor(options), "fault": StatusShape, "address": 64})


assert max(Status) < 1 << 8
