"""The shape of a tile in device memory: rows of contiguous bytes, and dimensions above them.

The checker, the model of the engine and both drivers follow these rules.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from cdma.base.errors import ParameterError

from .settings import check_range

#: The most dimensions above the row.
MAX_DIMENSIONS = 4
#: Bits of a count, of the padding of a dimension on either side, of the bytes of a row and of its margins, and of a stride
#: with its sign.
COUNT_BITS, PADDING_BITS, RUN_BITS, MARGIN_BITS, STRIDE_BITS = 16, 8, 32, 16, 64
#: From its lowest byte to its highest one, a shape has at most so many: half of what the addresses of a command tell apart.
SPAN_LIMIT = 1 << 33


@dataclass(frozen=True)
class Dimension:
    """A dimension: ``count`` entries in memory, each ``stride`` bytes after the one before.

    ``before``, ``after``: Entries that the stream has besides, on either side, and memory has not.
    """

    count: int
    stride: int
    before: int = 0
    after: int = 0

    def __post_init__(self) -> None:
        check_range("count", self.count, 1, (1 << COUNT_BITS) - 1, "the field has 16 bits")
        half = 1 << (STRIDE_BITS - 1)
        check_range("stride", self.stride, -half, half - 1, "the field has 64 bits with its sign")
        for name in ("before", "after"):
            check_range(name, getattr(self, name), 0, (1 << PADDING_BITS) - 1, "the field has 8 bits")

    @property
    def total(self) -> int:
        """Entries in the stream."""
        return self.before + self.count + self.after

    @property
    def padded(self) -> bool:
        """Whether the stream has more entries than memory."""
        return self.total != self.count

    @property
    def extent(self) -> int:
        """Bytes from the first entry to the last one; negative where addresses fall."""
        return self.stride * (self.count - 1)


@dataclass(frozen=True)
class Shape:
    """Rows of ``run`` contiguous bytes, in ``dimensions``, the innermost of the stream first.

    The first row, which is the first that is not padding, lies at the address of the descriptor.

    ``before``, ``after``: Bytes of padding in the stream, on either side of each row.
    """

    run: int
    dimensions: tuple[Dimension, ...] = ()
    before: int = 0
    after: int = 0

    def __post_init__(self) -> None:
        check_range("run", self.run, 1, (1 << RUN_BITS) - 1, "the field has 32 bits")
        for name in ("before", "after"):
            check_range(name, getattr(self, name), 0, (1 << MARGIN_BITS) - 1, "the field has 16 bits")
        if len(self.dimensions) > MAX_DIMENSIONS:
            raise ParameterError(
                f"a shape has {len(self.dimensions)} dimensions above its row; at most {MAX_DIMENSIONS} are allowed"
            )

    @property
    def row(self) -> int:
        """Bytes of a row in the stream."""
        return self.before + self.run + self.after

    @property
    def length(self) -> int:
        """Bytes of the stream's raw data, padding included: the ``length`` of the descriptor."""
        return self.row * prod(dimension.total for dimension in self.dimensions)

    @property
    def moved(self) -> int:
        """Bytes that are moved from or to memory: without padding."""
        return self.run * prod(dimension.count for dimension in self.dimensions)

    @property
    def lowest(self) -> int:
        """Where the lowest byte lies, counted from the first row: 0 or less."""
        return sum(min(0, dimension.extent) for dimension in self.dimensions)

    @property
    def span(self) -> int:
        """Bytes from the lowest one to the highest one, both included."""
        return self.run + sum(abs(dimension.extent) for dimension in self.dimensions)

    @property
    def order(self) -> tuple[int, ...]:
        """The numbers of the dimensions by their strides, the smallest first; those of one entry, whose stride says nothing,
        come last."""
        dimensions = self.dimensions
        return tuple(
            sorted(
                range(len(dimensions)), key=lambda d: (dimensions[d].count == 1, abs(dimensions[d].stride))
            )
        )

    @property
    def overlaps(self) -> bool:
        """Whether rows may overlap: by the engine's rule, which is sufficient for that they do not.

        In the order of their strides, each dimension steps over all of those before it.
        """
        reach = self.run
        for number in self.order:
            dimension = self.dimensions[number]
            if dimension.count > 1 and abs(dimension.stride) < reach:
                return True
            reach += abs(dimension.extent)
        return False

    def rows(self) -> Iterator[int | None]:
        """Each row of the stream: where it lies, counted from the first one, or None where it is padding."""
        steps = [
            [
                index * dimension.stride if 0 <= index < dimension.count else None
                for index in range(-dimension.before, dimension.count + dimension.after)
            ]
            for dimension in reversed(self.dimensions)
        ]
        for offsets in itertools.product(*steps):
            yield None if None in offsets else sum(offset for offset in offsets if offset is not None)

    def simplified(self) -> Shape:
        """The same rows in the same order with the fewest dimensions: those that lie without a gap are one."""
        shape = replace(self, dimensions=tuple(d for d in self.dimensions if d.total > 1))
        while (joined := shape._joined_row() or shape._joined_dimension()) is not None:
            shape = joined
        return shape

    def _joined_row(self) -> Shape | None:
        """With the innermost dimension in the row, where it continues the row; None where it does not."""
        if not self.dimensions or self.before or self.after:
            return None
        inner, *outer = self.dimensions
        if inner.count > 1 and inner.stride != self.run:
            return None
        run, before, after = (self.run * entries for entries in (inner.count, inner.before, inner.after))
        if run >> RUN_BITS or max(before, after) >> MARGIN_BITS:
            return None
        return Shape(run, tuple(outer), before, after)

    def _joined_dimension(self) -> Shape | None:
        """With one dimension in the one before it, where it continues that; None if none does."""
        dimensions = self.dimensions
        for place, (inner, outer) in enumerate(itertools.pairwise(dimensions)):
            count, before, after = (
                inner.count * entries for entries in (outer.count, outer.before, outer.after)
            )
            fits = not count >> COUNT_BITS and not max(before, after) >> PADDING_BITS
            follows = outer.count == 1 or outer.stride == inner.stride * inner.count
            if not inner.padded and follows and fits:
                joined = Dimension(count, inner.stride, before, after)
                return replace(self, dimensions=(*dimensions[:place], joined, *dimensions[place + 2 :]))
        return None

    def objection(self, *, align: int, dimensions: int, writes: bool) -> str:
        """Why an engine cannot move this shape; nothing if it can.

        ``align``: Bytes of which addresses on the device port are multiples.
        ``dimensions``: The most dimensions of the engine.
        ``writes``: The shape is written.
        """
        if len(self.dimensions) > dimensions:
            return f"it has {len(self.dimensions)} dimensions above its row; this engine takes {dimensions}"
        for name, value in (("row", self.run), ("margin before", self.before), ("margin after", self.after)):
            if value % align:
                return f"its {name} has {value} bytes, which is no multiple of {align}"
        for number, dimension in enumerate(self.dimensions, 1):
            if dimension.count > 1 and dimension.stride % align:
                return f"the stride of dimension {number} is {dimension.stride} bytes, which is no multiple of {align}"
        if self.span > SPAN_LIMIT:
            return f"it spans {self.span} bytes of memory; at most {SPAN_LIMIT} are allowed"
        if writes and self.overlaps:
            return "its rows overlap, or lie between each other, and it is written"
        return ""


def queued_rows(outstanding: int) -> int:
    """The depth of the queue of rows in an engine with so many bursts in flight: a power of two."""
    return 4 << (outstanding - 1).bit_length()
