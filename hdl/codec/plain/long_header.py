"""How a decompressor finds a long header among the words that it has."""

from collections.abc import Sequence

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.utils import exact_log2

__all__ = ["MOST_SELECTED", "turned_down"]

#: The longest header whose words are each selected from all that there is; a longer one is cheaper to turn into its place.
MOST_SELECTED = 8


def turned_down(m: Module, words: Sequence[Value], amount: Value) -> list[Value]:
    """The words, each moved down by ``amount`` lanes, cyclically; their number is a power of two."""
    lanes = len(words)
    for level in reversed(range(exact_log2(lanes))):
        turned = [Signal.like(words[0], name=f"turned_{level}_{lane}") for lane in range(lanes)]
        for lane in range(lanes):
            m.d.comb += turned[lane].eq(Mux(amount[level], words[(lane + (1 << level)) % lanes], words[lane]))
        words = turned
    return list(words)
