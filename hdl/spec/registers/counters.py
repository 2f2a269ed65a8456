"""The block ``counters``, once for each channel."""

from __future__ import annotations

from cdma.hdl.spec.counters import COUNTERS

from .declare import number
from .description import Access, Block, Register

__all__ = ["COUNTERS_BLOCK"]


def _halves(number_of_counter: int, name: str, doc: str) -> tuple[Register, Register]:
    offset = 8 * number_of_counter
    return (
        number(f"{name}_low", offset, Access.RO, f"{doc} Bits 31 to 0; reading latches the rest."),
        number(
            f"{name}_high", offset + 4, Access.RO, f"{doc} Bits 63 to 32, as of the last read of a low half."
        ),
    )


COUNTERS_BLOCK = Block(
    "counters",
    "What a channel has done, 64 bits each. Reading a low half latches its high half: "
    "read low, then high, from one thread at a time, and the 64 bits belong together.",
    tuple(half for index, (name, doc) in enumerate(COUNTERS) for half in _halves(index, name, doc)),
    (("offload_counters", 0x400), ("prefetch_counters", 0x480)),
    external=True,
)
