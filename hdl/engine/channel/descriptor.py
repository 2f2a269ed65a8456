"""Descriptors and completions as Amaranth layouts; what the fields mean stands in :mod:`~cdma.hdl.spec.records`."""

from amaranth.lib import data

from cdma.hdl.blocks.named_values import NamedValues
from cdma.hdl.engine.shapes.layout import ShapeLayout
from cdma.hdl.spec.records import (
    Mode,
    RecordField,
    RecordOptions,
    Status,
    completion_fields,
    descriptor_fields,
)

__all__ = ["Completion", "Descriptor", "Request", "StatusShape"]

_MODE_BITS = _STATUS_BITS = 8
#: A :class:`~cdma.hdl.spec.records.Status` in hardware.
StatusShape = NamedValues(_STATUS_BITS, "Status", Status)
#: The fields whose values have names.
_NAMED = {"status": StatusShape, "mode": NamedValues(_MODE_BITS, "Mode", Mode)}


def _members(record: tuple[RecordField, ...]) -> dict[str, int | NamedValues]:
    return {field.name: _NAMED.get(field.name, field.bits) for field in record}


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
    leaves both at 0. ``extension`` is that of a descriptor that is ``shaped``."""

    def __init__(self, options: RecordOptions) -> None:
        extension = {"extension": ShapeLayout} if options.dimensions else {}
        super().__init__(
            {"descriptor": Descriptor(options), "fault": StatusShape, "address": 64, **extension}
        )


assert max(Status) < 1 << _STATUS_BITS
