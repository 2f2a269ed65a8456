"""Descriptors and completions as Amaranth layouts; what the fields mean stands in :mod:`~cdma.hdl.spec.records`."""

from amaranth.lib import data

from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, RecordField, Status

__all__ = ["Completion", "Descriptor", "Request", "StatusShape"]

#: A :class:`~cdma.hdl.spec.records.Status` in hardware.
StatusShape = 8


def _layout(record: tuple[RecordField, ...]) -> data.StructLayout:
    return data.StructLayout({field.name: field.bits for field in record})


#: 64 bytes, as they lie in memory.
Descriptor = _layout(DESCRIPTOR)

#: 64 bytes, as they lie in memory.
Completion = _layout(COMPLETION)

#: What a channel takes: a descriptor. Where it could not be fetched, ``fault`` is the
#: :class:`~cdma.hdl.spec.records.Status` of that and ``address`` is where it lies; logic that drives a channel itself
#: leaves both at 0.
Request = data.StructLayout({"descriptor": Descriptor, "fault": StatusShape, "address": 64})

assert max(Status) < 1 << StatusShape
