"""A wide counter for small amounts."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["WideCounter"]


class WideCounter(wiring.Component):
    """Adds ``amount`` to ``value`` in every cycle, or to ``first``, also at most ``most``, where ``clear`` is high.

    The upper half's carry does not ripple through the middle: whether the middle is all ones is known a cycle after it
    changes, and it changes only when the lowest part overflows, which takes several cycles at the most that is added.
    """

    def __init__(self, most: int, width: int = 32) -> None:
        #: Four additions of the largest amount do not fill the lowest part.
        self.low = most.bit_length() + 2
        self.middle = (width - self.low) // 2
        self.high = width - self.low - self.middle
        super().__init__(
            {"clear": In(1), "first": In(range(most + 1)), "amount": In(range(most + 1)), "value": Out(width)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        low = Signal(self.low)
        middle = Signal(self.middle)
        high = Signal(self.high)
        middle_full = Signal()
        total = Signal(self.low + 1)
        carry = total[-1]
        m.d.comb += [
            total.eq(Mux(self.clear, self.first, low) + self.amount),
            self.value.eq(Cat(low, middle, high)),
        ]
        m.d.sync += [
            low.eq(total),
            middle.eq(Mux(self.clear, 0, middle + carry)),
            middle_full.eq(middle.all() & ~self.clear),
            high.eq(Mux(self.clear, 0, high + (carry & middle_full))),
        ]
        return m
