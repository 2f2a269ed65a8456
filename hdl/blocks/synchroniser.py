"""Two flip-flops that bring a level into another clock domain."""

from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Synchroniser"]


class Synchroniser(wiring.Component):
    """Two flip-flops in a row, without a reset; a team may put a cell of its library here.

    A platform with ``get_synchroniser`` builds it instead.

    ``input``
        Out of flip-flops of another clock domain. It is a level, or a count of which one bit changes at a time.
    ``output``
        The input as it was at the edge before the last one. A change that an edge meets may come an edge later.
    """

    def __init__(self, bits: int = 1) -> None:
        self.bits = bits
        super().__init__({"input": In(bits), "output": Out(bits)})

    def elaborate(self, platform: object) -> Elaboratable:
        if hasattr(platform, "get_synchroniser"):
            built: Elaboratable = platform.get_synchroniser(self)
            return built
        m = Module()
        first, second = (Signal(self.bits, name=name, reset_less=True) for name in ("first", "second"))
        m.d.sync += [first.eq(self.input), second.eq(first)]
        m.d.comb += self.output.eq(second)
        return m
