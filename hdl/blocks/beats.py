"""Beats: what a stream of words carries in one cycle."""

from amaranth.hdl import Cat, Value
from amaranth.lib import data

__all__ = ["Beat", "count_kept", "malformed"]


class Beat(data.StructLayout):
    """One beat of a packet. Words are packed from lane 0, and only the last beat of a packet may be partial.

    ``data``
        Words of all ``lanes``.
    ``keep``
        Says which words are valid, with one bit for each.
    ``last``
        Ends the packet.
    """

    def __init__(self, word_bits: int, lanes: int) -> None:
        super().__init__({"data": data.ArrayLayout(word_bits, lanes), "keep": lanes, "last": 1})
        self.word_bits = word_bits
        self.lanes = lanes


def malformed(beat: Value) -> Value:
    """Whether a beat is empty, has a hole, or is partial without being the last."""
    keep = beat.keep
    hole = (keep[1:] & ~keep[:-1]).any()
    return hole | ~keep[0] | (~beat.last & ~keep[-1])


def count_kept(keep: Value) -> Value:
    """The number of ones in ``keep``, which are its lowest bits."""
    # Bit n of the number says whether an odd multiple of 2**n is reached.
    return Cat(keep[(1 << bit) - 1 :: 1 << bit].xor() for bit in range(len(keep).bit_length()))
