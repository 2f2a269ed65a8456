"""The block ``shape``: that of the descriptor in the block ``push``, where it has one."""

from __future__ import annotations

from itertools import groupby

from cdma.hdl.spec.shape import MAX_DIMENSIONS
from cdma.hdl.spec.shape_record import SHAPE_RECORD

from .declare import register
from .description import REGISTER_BYTES, Access, Block, Field
from .record_parts import RecordPart, record_parts

__all__ = ["SHAPE_BLOCK", "shape_parts"]

_SHARED = "shared"
#: The words of several fields, by number: they come after the strides, which take two words each.
_FIRST = 2 * MAX_DIMENSIONS
_NAMES = {
    _FIRST + place: name
    for place, name in enumerate(("extent_1", "extent_2", "extent_3", "order", "extent_4", "margins"))
}


def shape_parts() -> list[tuple[str, RecordPart]]:
    """Every field of the extension, cut into words, with the name of its register."""
    return [(_NAMES.get(part.word, part.register), part) for part in record_parts(SHAPE_RECORD, _SHARED)]


def _block() -> Block:
    registers = []
    for name, group in groupby(shape_parts(), lambda pair: pair[0]):
        parts = [part for _, part in group]
        fields = tuple(
            Field(part.field, part.lsb, part.bits, Access.RW, part.record.doc, in_memory=True)
            for part in parts
        )
        doc = parts[0].record.doc if len(parts) == 1 else f"{', '.join(field.name for field in fields)}."
        registers.append(register(name, parts[0].word * REGISTER_BYTES, doc, *fields))
    return Block(
        "shape",
        "The shape of the descriptor in the block `push`, where that has `shaped`. Write it before `push.submit`, and not "
        "while `push.status.pending` is 1. The fields lie as in the extension in memory.",
        tuple(registers),
        (("shape", 0x500),),
    )


SHAPE_BLOCK = _block()
