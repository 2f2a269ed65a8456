"""The block ``owner``, once for each channel: whose transfers a channel may carry out, and whose its rings are."""

from __future__ import annotations

from collections.abc import Mapping

from .declare import lock, register, rw
from .description import Block, Field

__all__ = ["owner_block"]

_DOCS = {
    "substream": "The substream ID.",
    "stream": "The stream ID.",
    "substream_valid": "There is a substream ID.",
}


def owner_block(fields: Mapping[str, tuple[int, int]]) -> Block:
    """The block of an engine whose owners have these fields; see :func:`~cdma.hdl.spec.owner.owner_fields`."""

    def owner(*, ones: bool = False) -> tuple[Field, ...]:
        return tuple(
            rw(name, lsb, _DOCS[name], bits, reset=(1 << bits) - 1 if ones else 0)
            for name, (lsb, bits) in fields.items()
        )

    locked = "lock.locked"
    return Block(
        "owner",
        "Whose a channel's transfers may be: after a reset of the hardware that of stream 0, without a substream, alone. "
        "The fields lie as in `owner` of a descriptor.",
        (
            register(
                "value",
                0x00,
                "What the owner of a descriptor must be in the bits of `mask`; any other is refused as `OWNER`.",
                *owner(),
                locked_by=locked,
            ),
            register("mask", 0x04, "The bits that are compared.", *owner(ones=True), locked_by=locked),
            register(
                "ring",
                0x08,
                "Whose the channel's rings and lists of pages are. What is written while `status.busy` is 1 waits until it "
                "is 0.",
                *owner(),
                locked_by=locked,
            ),
            register(
                "lock",
                0x0C,
                "Freezes all of these until the hardware is reset.",
                lock("locked", 0, "The others ignore writes."),
            ),
        ),
        (("offload_owner", 0x140), ("prefetch_owner", 0x160)),
        survives_soft_reset=True,
    )
