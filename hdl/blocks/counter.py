"""A wide counter for small amounts."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["WideCounter"]


class WideCounter(wiring.Component):
    """Adds ``amount`` to ``value`` in every cycle, modulo ``2**width``.

    ``amount``
        Is added to the value; 0 to ``most``.
    ``clear``, ``first``
        Restarts the value from ``first``, 0 to ``most``, before ``amount`` is added.
    ``hold``
        Keeps the value, whatever the others say. It may come late: it is joined last.
    ``value``
        Is the sum of all amounts up to the cycle before.

    No carry ripples through the whole counter within a cycle. The lowest part overflows at most every fourth cycle, and
    only then do the others change. The cycles in between serve to find out whether the middle part is all ones.

    ``pipelined``
        Adds one to all of the upper part in those cycles instead. This takes a flip-flop more for each of its bits, and
        leaves less logic in a cycle, as FPGAs need it.
    """

    def __init__(self, most: int, width: int = 32, *, pipelined: bool = False) -> None:
        self.pipelined = pipelined
        #: Four additions of the largest amount do not fill the lowest part.
        self.low = most.bit_length() + 2
        self.upper = width - self.low
        super().__init__(
            {
                "clear": In(1),
                "first": In(range(most + 1)),
                "amount": In(range(most + 1)),
                "hold": In(1),
                "value": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        low = Signal(self.low)
        total = Signal(self.low + 1)
        carry = total[-1] & ~self.hold
        clear = self.clear & ~self.hold
        m.d.comb += total.eq(Mux(self.clear, self.first, low) + self.amount)
        m.d.sync += low.eq(Mux(self.hold, low, total))
        if self.pipelined:
            upper = Signal(self.upper)
            next_upper = Signal(self.upper)
            m.d.comb += self.value.eq(Cat(low, upper))
            m.d.sync += next_upper.eq(upper + 1)
            with m.If(clear):
                m.d.sync += upper.eq(0)
            with m.Elif(carry):
                m.d.sync += upper.eq(next_upper)
        else:
            middle = Signal(self.upper // 2)
            high = Signal(self.upper - self.upper // 2)
            middle_full = Signal()
            m.d.comb += self.value.eq(Cat(low, middle, high))
            m.d.sync += [
                middle.eq(Mux(clear, 0, middle + carry)),
                middle_full.eq(middle.all() & ~clear),
                high.eq(Mux(clear, 0, high + (carry & middle_full))),
            ]
        return m
