"""The block ``shares``, once for each direction: how queue pairs share the data path."""

from __future__ import annotations

from cdma.hdl.spec.shares import LEVEL_BITS, LIMIT_BITS, PERIOD_BITS, TURN_LOG2, UNIT_LOG2, WEIGHT_BITS

from .declare import register, rw
from .description import Block

__all__ = ["LIMIT_PERIOD", "shares_block"]

#: Cycles of a limit's period after a reset.
LIMIT_PERIOD = 1024
_UNIT = 1 << UNIT_LOG2


def shares_block(pairs: int) -> Block:
    """The block of an engine with so many ``pairs``."""
    return Block(
        "shares",
        "How queue pairs share the data path of a direction: a register for each pair, in the first one's page alone. "
        f"What a descriptor moves counts in units of {_UNIT} raw bytes, at least one, whatever becomes of it.",
        (
            register(
                "share",
                0x00,
                "Which pair goes next: of those that have a descriptor the one of the highest level, and within a level as "
                "the weights say.",
                rw(
                    "weight",
                    0,
                    f"A turn is this times {_UNIT << TURN_LOG2} bytes, 0 is taken as 1; what is moved over it counts "
                    "against the next turns.",
                    WEIGHT_BITS,
                    reset=1,
                ),
                rw(
                    "priority",
                    WEIGHT_BITS,
                    "The level; while one of a higher level can go, none of this does.",
                    LEVEL_BITS,
                ),
                count=pairs,
            ),
            register(
                "limit",
                0x20,
                "The most that a pair moves.",
                rw("units", 0, "Units in each `period`, in the mean; 0 is no limit.", LIMIT_BITS),
                count=pairs,
            ),
            register(
                "period",
                0x40,
                "The period of all limits of this direction.",
                rw("cycles", 0, "Clock cycles; 0 is taken as 1.", PERIOD_BITS, reset=LIMIT_PERIOD),
            ),
        ),
        (("offload_shares", 0x600), ("prefetch_shares", 0x680)),
    )
