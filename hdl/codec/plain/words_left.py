"""Counts the words down that are left of a packet."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import one_of

__all__ = ["WordsLeft"]


class WordsLeft(wiring.Component):
    """The number of words left, of up to 32 bits, in two parts: whether a beat is taken is known late in the cycle, so this
    reaches only the few lower bits.

    The upper bits follow a cycle after the lower ones have passed zero, and count one too many until then. The lower ones
    are then those of at least ``beats`` beats less one, so neither of a packet's last two beats is mistaken, nor what is
    left of a window of ``beats`` beats.

    ``loads``, ``takes``, ``holds``
        Loads ``length``; takes away a beat, of which there is one more; does neither. One of them is high.
    ``unknown``
        Nothing is known of the packet: ``loads`` is high, too.
    ``length``
        Number of words of the next packet. Its upper bits are in the register before they are loaded, as soon as the packet
        before no longer needs them.
    ``near``
        The lower bits.
    ``only_near``
        There are no upper bits. Low in the two cycles after the last of them has gone.
    ``more``
        There are upper bits; high a cycle longer.
    """

    def __init__(self, lanes: int, beats: int) -> None:
        self.lanes = lanes
        self.bits = exact_log2(lanes) + max(2, exact_log2(beats))
        super().__init__(
            {
                "loads": In(1),
                "takes": In(1),
                "holds": In(1),
                "unknown": In(1),
                "length": In(32),
                "near": Out(self.bits),
                "only_near": Out(1),
                "more": Out(1),
            }
        )

    @property
    def beats(self) -> Value:
        """Full beats in the lower bits."""
        return self.near[exact_log2(self.lanes) :]

    @property
    def odd(self) -> Value:
        """Words beyond the full beats."""
        return self.near[: exact_log2(self.lanes)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        near = Signal(self.bits, reset_less=True)
        far = Signal(32 - self.bits, reset_less=True)
        only_near = Signal(reset_less=True)
        borrow = Signal(reset_less=True)
        next_far = self.length[self.bits :]
        m.d.comb += [self.near.eq(near), self.only_near.eq(only_near), self.more.eq(~only_near & far.any())]
        m.d.sync += [
            near.eq(
                one_of(
                    (self.loads, self.length[: self.bits]),
                    (self.takes, (near - self.lanes)[: self.bits]),
                    (self.holds, near),
                )
            ),
            borrow.eq(self.takes & ~self.beats.any()),
            only_near.eq(Mux(self.loads, next_far == 0, only_near | (far == 0))),
            far.eq(Mux(self.unknown | only_near, next_far, (far - borrow)[: len(far)])),
        ]
        return m
