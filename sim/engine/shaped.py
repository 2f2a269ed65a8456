"""How the engine moves a shape in device memory: its fill, and the runs of bytes that bursts are cut from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import Mode
from cdma.hdl.spec.shape import Shape
from cdma.hdl.spec.shape_record import SHAPE_RECORD

__all__ = ["fill_of", "joined", "runs", "uses_reserved"]

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
            there = len(stream) - start
            if there < shape.run:
                data = data[: len(data) - shape.run + max(0, there)]
                break
        if data:
            yield where, data
        if len(data) < count:
            return
