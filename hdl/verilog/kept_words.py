"""Which words of a beat are kept, from ``tkeep``."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Cat, Module, Signal, Value

__all__ = ["kept_words"]


def kept_words(m: Module, tkeep: Value, width: int) -> Value:
    """Says which words are kept, of each of which ``tkeep`` has ``width`` bits: those of which it has all.

    Of a beat that keeps only a part of a word, or a word above one that it does not keep, no word is kept.
    """
    words = [tkeep[start : start + width] for start in range(0, len(tkeep), width)]
    cut = Signal(name="word_cut")
    hole = Signal(name="hole")
    m.d.comb += [
        cut.eq(Cat(word.any() & ~word.all() for word in words).any()),
        hole.eq(Cat(above.all() & ~below.all() for below, above in pairwise(words)).any()),
    ]
    return Cat(word.all() & ~(cut | hole) for word in words)
