"""The block ``push``: one descriptor given through registers instead of a ring."""

from __future__ import annotations

from collections.abc import Mapping

from cdma.hdl.spec.records import RecordOptions, descriptor_fields

from .declare import pulse, register, ro
from .description import Access, Block
from .record_parts import RecordPart, record_parts, record_registers
from .shape import shape_parts

__all__ = ["push_block", "push_words"]


def push_block(options: RecordOptions) -> Block:
    """The block of an engine with ``options``."""
    return Block(
        "push",
        "One descriptor given through registers instead of a ring: fill it in, then submit it to a channel. "
        "The fields lie as in a descriptor in memory; the reserved ones have no registers.",
        (
            *record_registers(
                descriptor_fields(options), 0x00, "flags", Access.RW, locked_by="status.pending"
            ),
            *_SUBMIT,
        ),
        (("push", 0x180),),
    )


def push_words(
    options: RecordOptions, descriptor: Mapping[str, int], extension: Mapping[str, int] | None = None
) -> dict[str, int]:
    """What to write into which register before `push.submit`, for a descriptor and the extension of one with a shape."""
    parts = [
        (f"push.{part.register}", part, descriptor)
        for part in record_parts(descriptor_fields(options), "flags")
    ]
    if extension is not None:
        parts += [(f"shape.{name}", part, extension) for name, part in shape_parts()]
    words: dict[str, int] = {}
    for name, part, values in parts:
        words[name] = words.get(name, 0) | _bits(part, values) << part.lsb
    return words


def _bits(part: RecordPart, values: Mapping[str, int]) -> int:
    return values[part.record.name] >> part.start & (1 << part.bits) - 1


_SUBMIT = (
    register(
        "submit",
        0x40,
        "Hands the descriptor over.",
        pulse("offload", 0, "To the offload channel."),
        pulse("prefetch", 1, "To the prefetch channel."),
        locked_by="status.pending",
    ),
    register(
        "status",
        0x44,
        "Whether the descriptor has been taken.",
        ro(
            "pending",
            0,
            "A channel has not yet taken it; until then all registers of this block ignore writes.",
        ),
    ),
)
