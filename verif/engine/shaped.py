"""Strided transfers for the bench: random shapes, and their rows by the specification."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import DESCRIPTOR, SHAPE_RECORD, shape_values
from cdma.hdl.spec.shape import PADDING_BITS, Dimension, Shape
from cdma.sim.engine.memory import pack
from cdma.sim.engine.shaped import fill_of, gathered, joined

from .memory import AROUND, GUARD
from .transfer import Transfer

#: The most bytes from the lowest byte of a shape to the highest one: several pages.
_MOST_SPAN = 0x6000
#: About the most bytes and the most rows of a shape with large numbers.
_MOST_WIDE, _MOST_ROWS = 0x6000, 2000
#: The most entries of padding on one side.
_MOST_PADDING = (1 << PADDING_BITS) - 1
#: Addresses, which wrap.
_ADDRESSES = 1 << 64


@dataclass
class ShapedTransfer(Transfer):
    """A transfer with a ``shape`` and its ``extension``; ``source`` is everything from the lowest to the highest byte of a
    shape that is read."""

    shape: Shape = Shape(1)
    reads: bool = True
    extension: Mapping[str, int] | None = None

    entries: ClassVar[int] = 2

    @property
    def lowest(self) -> dict[str, int]:
        end = "source" if self.reads else "destination"
        return super().lowest | {end: self.shape.lowest}

    @property
    def room(self) -> int:
        return super().room if self.reads else self.shape.span

    def record(self) -> bytes:
        fields = shape_values(self.shape) if self.extension is None else self.extension
        return pack(DESCRIPTOR, self.descriptor) + pack(SHAPE_RECORD, fields)

    def writable(self) -> list[tuple[int, int]]:
        if self.reads:
            return super().writable()
        return [(offset, self.shape.run) for offset in self.shape.rows() if offset is not None]

    def left(self) -> list[tuple[int, int]]:
        written = {offset: len(data) for offset, data in joined(0, self.shape, self.expected.written, 1)}
        places = ((row, written.get(row % _ADDRESSES, 0)) for row in self.shape.rows() if row is not None)
        return [(row - self.shape.lowest + done, self.shape.run - done) for row, done in places]

    def image(self) -> bytes:
        if self.reads:
            return super().image()
        found = bytearray([GUARD]) * (self.shape.span + 2 * AROUND)
        for offset, data in joined(0, self.shape, self.expected.written, 1):
            # Addresses wrap, and so does what lies before the first row.
            at = (offset - self.shape.lowest) % _ADDRESSES + AROUND
            found[at : at + len(data)] = data
        return bytes(found)


def shaped(made: Transfer, shape: Shape, source: bytes, *, reads: bool) -> ShapedTransfer:
    """The transfer of a shape's words as one of the shape, whose rows are read out of ``source``, or written."""
    expected = made.expected
    if reads:
        expected = replace(expected, bytes_read=shape.moved)
    else:
        written = sum(len(data) for _, data in joined(0, shape, expected.written, 1))
        expected = replace(expected, scattered=written)
    descriptor = made.descriptor | {"shaped": 1}
    return ShapedTransfer(descriptor, source, expected, shape=shape, reads=reads)


def raw_of(
    config: EngineConfig, descriptor: Mapping[str, int], table: tuple[int, ...], shape: Shape, region: bytes
) -> bytes:
    """The raw data of a shape that is read, whose lowest byte is the first one of a region."""
    low = shape.lowest
    return gathered(
        shape,
        lambda offset, count: region[offset - low : offset - low + count],
        fill_of(config, descriptor, table),
    )


def _some_dimension(rng: random.Random) -> Dimension:
    if rng.random() < 0.7:
        return Dimension(rng.randint(1, 4), 0, rng.choice((0, 0, 0, 1)), rng.choice((0, 0, 0, 2)))
    return Dimension(rng.randint(1, 40), 0, rng.choice((0, rng.randint(1, 40))), rng.choice((0, 0, 17)))


def some_shape(rng: random.Random, config: EngineConfig, most: int, *, reads: bool) -> Shape:
    """A shape of about so many bytes at most; one that is read may overlap itself."""
    unit = config.align("dev")
    # Where rows are whole windows, these are what is counted in.
    beat = max(unit, config.dev_data_bits // 8)
    while True:
        dimensions = [_some_dimension(rng) for _ in range(rng.randint(0, config.dimensions))]
        margins = [unit * rng.choice((0, 0, 1, rng.randint(1, 2 * beat // unit))) for _ in range(2)]
        rows = Shape(1, tuple(dimensions)).length
        run = unit * max(1, rng.randint(1, max(1, most // rows // unit)))
        order = rng.sample(range(len(dimensions)), len(dimensions))
        reach = run
        for number in order:
            each = dimensions[number]
            # Rows that touch, that lie close to each other, and that lie in pages of their own.
            gap = unit * rng.choice((0, 0, 1, rng.randint(1, 9), rng.randint(1, 4096 // unit), 4096 // unit))
            dimensions[number] = replace(each, stride=rng.choice((-1, 1, 1)) * (reach + gap))
            reach += abs(dimensions[number].extent)
        if reads and dimensions and rng.random() < 0.2:
            # Rows that are read twice.
            dimensions[0] = replace(dimensions[0], stride=unit * rng.randint(-3, 3))
        shape = Shape(run, tuple(dimensions), *margins)
        if shape.span <= _MOST_SPAN and shape.length <= 2 * max(most, 64 * beat):
            assert not shape.objection(align=unit, dimensions=config.dimensions, writes=not reads)
            return shape


def wide_shape(rng: random.Random, config: EngineConfig, *, reads: bool) -> Shape:
    """A shape in which one number is large: entries, bytes of a run, or of padding."""
    unit = config.align("dev")

    def up_to(most: int) -> int:
        """A number of any size: half of them are about as large as can be."""
        return rng.randint(1, rng.choice((most, max(1, most >> rng.randrange(most.bit_length())))))

    most = _MOST_WIDE // unit
    while True:
        rows, longest, widest = rng.choice(((_MOST_ROWS, 4, 4), (4, most, 4), (2, 4, most)))
        dimensions = []
        for _ in range(config.dimensions):
            count = up_to(rows)
            before, after = (rng.choice((0, 0, 0, up_to(_MOST_PADDING))) for _ in range(2))
            dimensions.append(Dimension(count, 0, before, after))
            rows //= count
        run = unit * up_to(longest)
        margins = [unit * rng.choice((0, up_to(widest))) for _ in range(2)]
        reach = run
        for number in rng.sample(range(len(dimensions)), len(dimensions)):
            stride = rng.choice((-1, 1)) * (reach + unit * rng.choice((0, 1, up_to(64))))
            dimensions[number] = replace(dimensions[number], stride=stride)
            reach += abs(dimensions[number].extent)
        shape = Shape(run, tuple(dimensions), *margins)
        if shape.length <= 2 * _MOST_WIDE and shape.span <= 4 * _MOST_WIDE:
            assert not shape.objection(align=unit, dimensions=config.dimensions, writes=not reads)
            return shape
