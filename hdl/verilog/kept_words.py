"""Word enables of a beat, from the byte enables ``tkeep``."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Cat, Module, Signal, Value

__all__ = ["kept_words"]


def kept_words(m: Module, tkeep: Value, width: int) -> Value:
    """One enable per word, of ``width`` bits of ``tkeep`` each: high if all of these are.

    All are low for an illegal beat, with a partly enabled word or an enabled word above a disabled one.
    """
    words = [tkeep[start : start + width] for start in range(0, len(tkeep), width)]
    cut = Signal(name="word_cut")
    hole = Signal(name="hole")
    m.d.comb += [
        cut.eq(Cat(word.any() & ~word.all() for word in words).any()),
        hole.eq(Cat(above.all() & ~below.all() for below, above in pairwise(words)).any()),
    ]
    return Cat(word.all() & ~(cut | hole) for word in words)
