"""A shape as Amaranth layouts; what the fields mean stands in :mod:`~cdma.hdl.spec.shape_record`."""

from amaranth.lib import data

from cdma.hdl.axi.span import SPAN_BITS
from cdma.hdl.spec.shape_record import SHAPE_RECORD

__all__ = ["Measured", "ShapeLayout", "WalkLayout"]

#: 64 bytes, as they lie in memory.
ShapeLayout = data.StructLayout({field.name: field.bits for field in SHAPE_RECORD})

#: A shape that is to be walked: ``first`` is the lower part of the address of its first row, and ``frequent`` says that
#: padding is the most frequent value, and not 0.
WalkLayout = data.StructLayout({"first": SPAN_BITS, "extension": ShapeLayout, "frequent": 1})

#: What the checker must know of a shape.
#:
#: ``shaped``
#:     The descriptor has one; all else counts only then.
#: ``reserved``, ``wrong``
#:     The extension has something where no field is; it is no shape, or one that the engine refuses.
#: ``lowest``, ``beneath``
#:     The address of its lowest byte; that would be below 0.
#: ``span``, ``moved``
#:     Bytes from the lowest to the highest one, and those among them that are moved.
Measured = data.StructLayout(
    {
        "shaped": 1,
        "reserved": 1,
        "wrong": 1,
        "lowest": 64,
        "beneath": 1,
        "span": SPAN_BITS,
        "moved": SPAN_BITS,
    }
)
