"""How queue pairs share the data path: units of what they move, and the bits of their registers."""

from __future__ import annotations

__all__ = [
    "LEVEL_BITS",
    "LIMIT_BITS",
    "MOST_PAIRS",
    "PAIR_SPAN_LOG2",
    "PERIOD_BITS",
    "TURN_LOG2",
    "UNIT_LOG2",
    "WEIGHT_BITS",
    "units_of",
]

#: The most pairs of an engine, and log2 of the bytes from the registers of one to those of the next.
MOST_PAIRS = 8
PAIR_SPAN_LOG2 = 12
WEIGHT_BITS, LEVEL_BITS = 8, 2
#: Bits of a limit, in units, and of the cycles in which it holds.
LIMIT_BITS, PERIOD_BITS = 16, 20
#: log2 of the bytes of a unit, and of the units that a weight of 1 is worth.
UNIT_LOG2, TURN_LOG2 = 8, 4


def units_of(length: int) -> int:
    """The units that a descriptor of so many raw bytes costs."""
    return max(1, -(-length >> UNIT_LOG2))
