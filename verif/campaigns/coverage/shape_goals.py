"""The situations of shapes in device memory that the regression of an engine must bring up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.pages import PAGE_BYTES
from cdma.hdl.spec.shape import Dimension, Shape
from cdma.hdl.spec.shape_record import shape_from
from cdma.verif.engine.bench import CHANNELS
from cdma.verif.simulator.design import Design

from .goals import Goal, Sample, cross

__all__ = ["SHAPE_GOALS"]

_SIDES = ("before", "after", "on both sides")
_OF_DIMENSIONS = (
    "no entries",
    "one entry",
    "several entries",
    "backwards",
    *(f"padding {side}" for side in _SIDES),
)
_OF_ROWS = (
    *(f"margins {side}" for side in _SIDES),
    "one beat",
    "several bursts",
    "across the end of a page",
    "touching",
    "touching around padding",
    "touching at the end of a page",
)
_AMID = (
    "begins amid a beat",
    "ends amid a beat",
    "in a beat of memory with its neighbour",
    "several in a beat of the stream",
)


def _with_shapes(design: Design) -> bool:
    return bool(design.config.dimensions)


def _shape(sample: Sample, design: Design) -> Shape | None:
    """The shape of a transfer without an error."""
    if sample.get("status") != "OK" or "extension" not in sample:
        return None
    return shape_from(sample["extension"], design.config.dimensions)


def _side(before: int, after: int) -> str:
    """On which side of something there is padding."""
    return _SIDES[2 if before and after else 1 if after else 0]


def _orders(design: Design) -> list[str]:
    dimensions = design.config.dimensions
    found = [f"dimensions {count}" for count in range(dimensions + 1)]
    return cross(CHANNELS, (*found, "transposed") if dimensions > 1 else found)


def _order(sample: Sample, design: Design) -> Iterator[str]:
    shape = _shape(sample, design)
    if shape is None:
        return
    strides = [abs(each.stride) for each in shape.dimensions if each.count > 1]
    yield f"{sample['channel']}, dimensions {len(strides)}"
    if strides != sorted(strides):
        yield f"{sample['channel']}, transposed"


def _numbered(design: Design) -> list[str]:
    numbers = (f"dimension {number}" for number in range(1, design.config.dimensions + 1))
    return cross(CHANNELS, numbers, _OF_DIMENSIONS)


def _dimensions(sample: Sample, design: Design) -> Iterator[str]:
    shape = _shape(sample, design)
    if shape is None:
        return
    for number, each in enumerate(shape.dimensions, 1):
        there = sample["extension"][f"count_{number}"] != 0
        for name in _of_dimension(each) if there else ("no entries",):
            yield f"{sample['channel']}, dimension {number}, {name}"


def _of_dimension(dimension: Dimension) -> Iterator[str]:
    yield "one entry" if dimension.count == 1 else "several entries"
    if dimension.count > 1 and dimension.stride < 0:
        yield "backwards"
    if dimension.padded:
        yield f"padding {_side(dimension.before, dimension.after)}"


def _rows(sample: Sample, design: Design) -> Iterator[str]:
    shape = _shape(sample, design)
    if shape is None:
        return
    first = sample["source" if sample["channel"] == "offload" else "destination"]
    found = {*_of_row(shape, design.config), *_of_neighbours(shape, first)}
    yield from cross([sample["channel"]], sorted(found))


def _of_row(shape: Shape, config: EngineConfig) -> Iterator[str]:
    beat = config.dev_data_bits // 8
    if shape.before or shape.after:
        yield f"margins {_side(shape.before, shape.after)}"
    if shape.run == beat:
        yield "one beat"
    if shape.run > beat * config.burst("dev"):
        yield "several bursts"


def _of_neighbours(shape: Shape, first: int) -> Iterator[str]:
    """How rows, the first of which has this address, lie to each other, and to the pages of memory."""
    ended, padded = None, False
    for offset in shape.rows():
        if offset is None:
            padded = True
            continue
        place = first + offset
        if place % PAGE_BYTES + shape.run > PAGE_BYTES:
            yield "across the end of a page"
        if place == ended:
            yield "touching around padding" if padded else "touching"
            if place % PAGE_BYTES == 0:
                yield "touching at the end of a page"
        ended, padded = place + shape.run, False


def _with_rows_amid_beats(design: Design) -> bool:
    return _with_shapes(design) and design.config.realign


def _amid(sample: Sample, design: Design) -> Iterator[str]:
    shape = _shape(sample, design)
    if shape is None:
        return
    beat = design.config.dev_data_bits // 8
    first = sample["source" if sample["channel"] == "offload" else "destination"]
    ends = [(first + at, first + at + shape.run) for at in shape.rows() if at is not None]
    beats = [{start // beat, (end - 1) // beat} for start, end in ends]
    found = (
        any(start % beat for start, _ in ends),
        any(end % beat for _, end in ends),
        any(before & after for before, after in itertools.pairwise(beats)),
        len(ends) > 1 and 2 * shape.row <= beat,
    )
    yield from cross([sample["channel"]], itertools.compress(_AMID, found))


SHAPE_GOALS = (
    Goal(
        "channel by dimensions",
        "transfers of shapes without an error: dimensions of several entries, and their order in memory",
        _orders,
        _order,
        _with_shapes,
    ),
    Goal(
        "channel by dimension by entries",
        "transfers of shapes without an error: what each dimension has in memory and in the stream",
        _numbered,
        _dimensions,
        _with_shapes,
    ),
    Goal(
        "channel by rows",
        "transfers of shapes without an error: what rows are, and how they lie to each other and in pages",
        lambda design: cross(CHANNELS, _OF_ROWS),
        _rows,
        _with_shapes,
    ),
    Goal(
        "channel by rows amid beats",
        "transfers of shapes without an error whose rows are of any words: how these lie in beats",
        lambda design: cross(CHANNELS, _AMID),
        _amid,
        _with_rows_amid_beats,
    ),
)
