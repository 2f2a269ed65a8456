"""The 64 bytes with which the shape of a tile follows a descriptor, as software sees them."""

from __future__ import annotations

from collections.abc import Mapping

from .records import RECORD_BYTES, RecordField
from .shape import (
    COUNT_BITS,
    MARGIN_BITS,
    MAX_DIMENSIONS,
    PADDING_BITS,
    RUN_BITS,
    STRIDE_BITS,
    Dimension,
    Shape,
)

__all__ = ["ORDER_BITS", "SHAPE_RECORD", "missing_fields", "shape_from", "shape_values"]

#: Bits of a dimension's number.
ORDER_BITS = 2
_NUMBERS = range(1, MAX_DIMENSIONS + 1)
_WORD_BITS = 32


def _fields() -> tuple[RecordField, ...]:
    """Laid one after the other.

    An extension that is taken for a descriptor, after the fetch of that has failed, is refused, and is not ``shaped``
    itself: where a descriptor has that bit and ``owned``, an extension has reserved ones, and where a descriptor that is
    not owned has reserved ones, an extension has its run.
    """

    def extent(n: int) -> tuple[tuple[str, int, str], ...]:
        return (
            (f"count_{n}", COUNT_BITS, f"Entries of dimension {n} in memory; 0: there is no such dimension."),
            (f"before_{n}", PADDING_BITS, "Entries of padding before them in the stream."),
            (f"after_{n}", PADDING_BITS, "Entries of padding after them in the stream."),
        )

    *inner, outermost = _NUMBERS
    zero = "Must be 0."
    laid = [
        *(
            (f"stride_{n}", STRIDE_BITS, f"Bytes from an entry of dimension {n} to the next, signed.")
            for n in _NUMBERS
        ),
        *(field for n in inner for field in extent(n)),
        *(
            (
                f"order_{n}",
                ORDER_BITS,
                f"The number, less one, of the dimension with the {n}. smallest stride. The first fields, as many as the "
                "engine has dimensions, must name each of these once; the others are ignored. In a shape that is written "
                "each must step over all of those before it.",
            )
            for n in _NUMBERS
        ),
        ("reserved_order", _WORD_BITS - ORDER_BITS * MAX_DIMENSIONS, zero),
        *extent(outermost),
        ("before_run", MARGIN_BITS, "Bytes of padding before each row in the stream."),
        ("after_run", MARGIN_BITS, "Bytes of padding after each row in the stream."),
        ("reserved_shape", _WORD_BITS, zero),
        ("run", RUN_BITS, "Bytes of a row, which are contiguous in memory; not 0."),
    ]
    bit, found = 0, []
    for name, bits, doc in laid:
        found.append(RecordField(name, bit // 8, bits, doc))
        bit += bits
    assert bit == 8 * RECORD_BYTES
    return tuple(found)


#: The fields of the extension, in the order in which they lie.
SHAPE_RECORD = _fields()


def missing_fields(dimensions: int) -> list[str]:
    """The fields of the dimensions that an engine with so many does not have. They must be 0."""
    missing = range(dimensions + 1, MAX_DIMENSIONS + 1)
    return [f"{name}_{number}" for number in missing for name in ("stride", "count", "before", "after")]


def shape_values(shape: Shape) -> dict[str, int]:
    """The fields that say a shape."""
    values = {"run": shape.run, "before_run": shape.before, "after_run": shape.after}
    for number, dimension in enumerate(shape.dimensions, 1):
        values |= {
            f"stride_{number}": dimension.stride % (1 << STRIDE_BITS),
            f"count_{number}": dimension.count,
            f"before_{number}": dimension.before,
            f"after_{number}": dimension.after,
        }
    rest = range(len(shape.dimensions), MAX_DIMENSIONS)
    values |= {f"order_{place}": number for place, number in enumerate((*shape.order, *rest), 1)}
    return values


def shape_from(values: Mapping[str, int], dimensions: int) -> Shape | None:
    """The shape that fields say to an engine of so many dimensions; None if they say none: no row, an order in which not
    each dimension is named once, or a dimension that the engine does not have."""
    order = [values[f"order_{place}"] for place in range(1, dimensions + 1)]
    missing = any(values[name] for name in missing_fields(dimensions))
    if not values["run"] or missing or sorted(order) != list(range(dimensions)):
        return None
    half = 1 << (STRIDE_BITS - 1)
    return Shape(
        values["run"],
        tuple(
            Dimension(
                values[f"count_{n}"] or 1,
                (values[f"stride_{n}"] + half) % (2 * half) - half,
                values[f"before_{n}"],
                values[f"after_{n}"],
            )
            for n in range(1, dimensions + 1)
        ),
        values["before_run"],
        values["after_run"],
    )
