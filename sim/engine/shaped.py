"""Strided tensors and page lists in the engine model: the runs of bytes that bursts are cut from, and their stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as count_from
from typing import Any

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.options import ENTRY_BYTES, PAGE_BYTES
from cdma.hdl.spec.records import SHAPE_RECORD, Mode
from cdma.hdl.spec.shape import Dimension, Shape

from .memory import BusError, Port


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


def tile_of(
    view: Any,
    tensor: Any,
    address: int,
    padding: Sequence[tuple[int, int]] | None = None,
    *,
    any_order: bool = False,
) -> Tile:
    """The tile of a numpy or torch ``view`` of a ``tensor`` whose first element is at ``address`` in device memory, with
    ``padding`` of each axis as for ``numpy.pad``; raises :class:`ParameterError` if no descriptor can have it.

    ``any_order``: The stream has the elements in the order of their addresses, which a DRAM likes, and not in the view's.
    """
    layout, owner = _layout(view), _layout(tensor)
    if 0 in layout.counts:
        raise ParameterError(f"the view has no elements: its shape is {layout.counts}")
    margins = [(0, 0)] * len(layout.counts) if padding is None else list(padding)
    if len(margins) != len(layout.counts):
        raise ParameterError(f"padding is given for {len(margins)} axes; the view has {len(layout.counts)}")
    offset = layout.pointer - owner.pointer
    axes = list(zip(layout.counts, layout.strides, margins, strict=True))[::-1]
    if any_order:
        axes.sort(key=lambda axis: abs(axis[1]))
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


def list_of(descriptor: Mapping[str, int]) -> int:
    """The address of a descriptor's list; 0 if it has none."""
    return descriptor["pages_high"] << 32 | descriptor["pages_low"]


def page_runs(port: Port, address: int, count: int, pages: int) -> Iterator[tuple[int, int]]:
    """The runs of host memory from ``address`` on, in order, each within a page: the first one, and those of the list at
    ``pages``.

    An entry is read when its turn comes. A list or a page that the window does not have, or an address that is none of a
    page, is what nothing answers at: a :class:`BusError` says so. Of an address beyond those of the port it has the bits
    that the port has, with bit 0 set: so it is no address of a page.
    """
    first = min(count, PAGE_BYTES - address % PAGE_BYTES)
    yield address, first
    for number, done in enumerate(range(first, count, PAGE_BYTES)):
        if not port.space.allows(pages, PAGE_BYTES):
            raise BusError("DECERR", pages)
        entry = port.read(pages + ENTRY_BYTES * number, ENTRY_BYTES)
        page = int.from_bytes(entry, "little")
        if page % PAGE_BYTES or not port.space.allows(page, PAGE_BYTES):
            raise BusError("DECERR", page % (1 << port.address_bits) | (page >> port.address_bits > 0))
        yield page, min(count - done, PAGE_BYTES)


_LAST = 1 << 64


def uses_reserved(extension: Mapping[str, int]) -> bool:
    """Whether a reserved field of an extension is not 0."""
    return any(extension[field.name] for field in SHAPE_RECORD if field.reserved)


def fill_of(config: EngineConfig, descriptor: Mapping[str, int], table: tuple[int, ...]) -> bytes:
    """What padding is filled with: the most frequent value where words have a table of their own, otherwise zeros. With a
    step padding is numbers, and the table has integers: so it is the number 0."""
    form = config.format
    whole = isinstance(form, Format) and not form.field_bits and not form.zero
    value = table[0] if descriptor["mode"] == Mode.FVC and whole and table and not descriptor["step"] else 0
    if form.word_bits < 8:
        value |= value << form.word_bits
    return value.to_bytes(max(1, form.word_bits // 8), "little")


def runs(address: int, shape: Shape, most: int) -> Iterator[tuple[int, int]]:
    """The runs of bytes that the engine reads or writes, in order: of ``most`` rows at most, which touch and have no padding
    between them but margins."""
    before = None
    for offset in (*shape.rows(), None):
        if before is not None and offset == before[0] + before[1] and before[1] < most * shape.run:
            before = (before[0], before[1] + shape.run)
            continue
        if before is not None:
            yield (address + before[0]) % _LAST, before[1]
        before = None if offset is None else (offset, shape.run)


def joined(address: int, shape: Shape, stream: bytes, most: int) -> Iterator[tuple[int, bytes]]:
    """The runs with the bytes of a stream that go there; of a stream that ends early the bytes that there are."""
    rows = shape.rows()
    position = 0
    for where, count in runs(address, shape, most):
        data = b""
        while len(data) < count:
            while next(rows) is None:
                position += shape.row
            start = position + shape.before
            data += stream[start : start + shape.run].ljust(shape.run, b"\0")
            position += shape.row
            available = len(stream) - start
            if available < shape.run:
                data = data[: len(data) - shape.run + max(0, available)]
                break
        if data:
            yield where, data
        if len(data) < count:
            return
