"""How a decompressor finds a long header among the words that it has."""

from collections.abc import Sequence

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import one_of

__all__ = ["MOST_SELECTED", "found_header", "turned_down"]

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


def found_header(
    m: Module, beats: Sequence[data.View], there: Sequence[Value], first: Value, below: Value
) -> list[Value]:
    """The words from lane ``first`` of one of the ``beats`` on, in as many lanes as a beat has.

    The first of ``there`` says with one bit each which beat that is, the second which one has the lanes ``below``.
    """
    words: list[Value] = []
    for lane in range(len(below)):
        chosen = Signal(len(beats), name=f"chosen_{lane}")
        m.d.comb += chosen.eq(Mux(below[lane], there[1], there[0]))
        words.append(one_of(*((chosen[number], beat[lane]) for number, beat in enumerate(beats))))
    return turned_down(m, words, first)
