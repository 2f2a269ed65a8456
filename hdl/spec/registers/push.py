"""The block ``push``: one descriptor given through registers instead of a ring."""

from __future__ import annotations

from cdma.hdl.spec.records import RecordOptions, descriptor_fields

from .declare import pulse, register, ro
from .description import Access, Block
from .record_parts import record_registers

__all__ = ["push_block"]


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
