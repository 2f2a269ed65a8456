"""How many bytes of their last word packets have, while they are inside the decompressor."""

from amaranth.hdl import Array, C, Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

__all__ = ["Tails", "bytes_kept"]


def bytes_kept(tail: Value) -> Value:
    """The bytes of a word of which so many are meant, one bit each; 0 for all."""
    return Cat(C(1, 1), ((tail == 0) | (tail > place) for place in range(1, 1 << len(tail))))


class Tails(wiring.Component):
    """Keeps the tail of each packet from when its length is taken until its last beat is: of at most ``packets``, a power of
    two. In flip-flops, because a packet may leave in the cycle after it begins.

    ``tail``, ``offered``, ``begins``
        Of the packet that begins next so many bytes of its last word are meant: 0 for all. It is valid while ``offered``,
        from before the packet ``begins`` on, which is known late in the cycle.
    ``kept``
        The bytes that are kept of the last word of the oldest packet, one bit each; from the cycle after it begins.
    ``ends``
        Its last beat is taken.
    """

    def __init__(self, bits: int, packets: int) -> None:
        self.bits = bits
        self.packets = packets
        super().__init__(
            {"tail": In(bits), "offered": In(1), "begins": In(1), "ends": In(1), "kept": Out(1 << bits)},
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tails = Array(
            Signal(self.bits, name=f"tail_{number}", reset_less=True) for number in range(self.packets)
        )
        newest = Signal(exact_log2(self.packets))
        oldest = Signal.like(newest)
        with m.If(self.offered):
            m.d.sync += tails[newest].eq(self.tail)
        with m.If(self.begins):
            m.d.sync += newest.eq(newest + 1)
        with m.If(self.ends):
            m.d.sync += oldest.eq(oldest + 1)
        tail = Signal(self.bits, name="of_oldest")
        m.d.comb += [
            tail.eq(tails[oldest]),
            self.kept.eq(bytes_kept(tail)),
        ]
        return m
