"""How the addresses of a command's bursts follow from where it begins and ends."""

from dataclasses import dataclass

from amaranth.hdl import C, Cat, Mux, Value
from amaranth.utils import exact_log2

from cdma.hdl.spec.records import LENGTH_BITS

__all__ = ["SPAN_BITS", "Blocks"]

#: A command spans at most ``2**LENGTH_BITS`` bytes. So this many bits of an address tell all of its bytes apart, and at
#: most one multiple of their range lies in it.
SPAN_BITS = LENGTH_BITS + 1


@dataclass(frozen=True)
class Blocks:
    """Memory in blocks, a burst's longest length each, whose bytes divide 4 KiB.

    Only the lower bits of a block's number are counted. The upper bits are those of the command's first address, until
    the count has passed zero; from then on, they are those of its last address.

    ``span_bits``
        Bits of an address that tell all bytes of a command apart; fewer than :data:`SPAN_BITS` where commands are shorter.
    ``contained``
        No multiple of their range lies within a command: the upper bits are always those of its first address.
    """

    address_bits: int
    beat_bytes: int
    burst: int
    span_bits: int = SPAN_BITS
    contained: bool = False

    @property
    def beat_log2(self) -> int:
        """Bits of an address below the beat."""
        return exact_log2(self.beat_bytes)

    @property
    def place_bits(self) -> int:
        """Bits of a beat's number in its block."""
        return (self.burst - 1).bit_length()

    @property
    def block_bits(self) -> int:
        """Bits of a block's number that are counted."""
        return self.span_bits - self.beat_log2 - self.place_bits

    def lane(self, address: Value, word_bits: int) -> Value:
        """Number of the word in its beat."""
        return address[exact_log2(word_bits // 8) : self.beat_log2]

    def place(self, address: Value) -> Value:
        """Number of the beat in its block."""
        return address[self.beat_log2 :][: self.place_bits]

    def block(self, address: Value) -> Value:
        """Number of the block, as it is counted."""
        return address[self.beat_log2 + self.place_bits : self.span_bits]

    def beat(self, first: Value, last: Value, wrapped: Value, block: Value, place: Value) -> Value:
        """The address, in beats, of a beat of the command from ``first`` to ``last``."""
        upper = first[self.span_bits :]
        high = upper if self.contained else Mux(wrapped, last[self.span_bits :], upper)
        return Cat(place, block, high)[: self.address_bits - self.beat_log2]

    def address(self, beat: Value) -> Value:
        """An address in beats as one in bytes."""
        return Cat(C(0, self.beat_log2), beat)
