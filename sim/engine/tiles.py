"""Tiles of tensors: a numpy or torch view as what a descriptor says of it, and the bytes that it has in the stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count as count_from
from typing import Any

from cdma.base.errors import ParameterError
from cdma.hdl.spec.shape import Dimension, Shape

__all__ = ["Tile", "gathered", "tile_of"]


@dataclass(frozen=True)
class Tile:
    """A shape in device memory, whose first row lies at ``address``."""

    address: int
    shape: Shape


@dataclass(frozen=True)
class _Layout:
    """Where the elements of an array are: in bytes, from the first one on."""

    pointer: int
    counts: tuple[int, ...]
    strides: tuple[int, ...]
    item: int


def _layout(array: Any) -> _Layout:
    if hasattr(array, "data_ptr"):
        item = array.element_size()
        return _Layout(
            array.data_ptr(), tuple(array.shape), tuple(stride * item for stride in array.stride()), item
        )
    return _Layout(array.__array_interface__["data"][0], array.shape, array.strides, array.itemsize)


def tile_of(view: Any, tensor: Any, address: int, padding: Sequence[tuple[int, int]] | None = None) -> Tile:
    """The tile that a numpy or torch ``view`` of a ``tensor`` is, whose first element lies at ``address`` in device memory;
    raises :class:`ParameterError` with the reason if no descriptor can say it.

    ``padding``
        The entries to add to each axis of the view, before and after, as ``numpy.pad`` takes them.
    """
    layout, owner = _layout(view), _layout(tensor)
    if 0 in layout.counts:
        raise ParameterError(f"the view has no elements: its shape is {layout.counts}")
    margins = [(0, 0)] * len(layout.counts) if padding is None else list(padding)
    if len(margins) != len(layout.counts):
        raise ParameterError(f"padding is given for {len(margins)} axes; the view has {len(layout.counts)}")
    offset = layout.pointer - owner.pointer
    axes = list(zip(layout.counts, layout.strides, margins, strict=True))[::-1]
    row = layout.item
    before = after = 0
    # The last axis is the row where its elements touch. Axes of one element have a stride that says nothing.
    if axes and (axes[0][1] == layout.item or axes[0][0] == 1):
        count, _, margin = axes.pop(0)
        row, before, after = (layout.item * entries for entries in (count, *margin))
    kept = [axis for axis in axes if axis[0] > 1 or any(axis[2])]
    return Tile(address + offset, _simplified(row, before, after, kept))


def _simplified(row: int, before: int, after: int, axes: list[tuple[int, int, tuple[int, int]]]) -> Shape:
    """The shape with the fewest dimensions; axes are joined one by one, because only the result must fit."""
    shape = Shape(row, (), before, after)
    for count, stride, margin in axes:
        shape = Shape(
            shape.run, (*shape.dimensions, Dimension(count, stride, *margin)), shape.before, shape.after
        )
        shape = shape.simplified()
    return shape


def gathered(shape: Shape, read: Callable[[int, int], bytes], fill: bytes) -> bytes:
    """The raw bytes of the stream: ``read(offset, count)`` gives those of a row, and padding is ``fill``, which the stream
    has at each multiple of its length."""
    stream = bytearray((fill * (-(-shape.length // len(fill))))[: shape.length])
    for start, offset in zip(count_from(shape.before, shape.row), shape.rows(), strict=False):
        if offset is not None:
            stream[start : start + shape.run] = read(offset, shape.run)
    return bytes(stream)
