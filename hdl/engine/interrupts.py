"""Turns completions into interrupts: after so many of them, or so long after the first."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Coalescer"]


class Coalescer(wiring.Component):
    """``interrupt`` is high for one cycle after ``count`` events (0 counts as 1), or ``cycles`` cycles after
    the first event that no interrupt has told of (0: never)."""

    event: In(1)
    count: In(8)
    cycles: In(32)
    interrupt: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        events = Signal(8)
        timer = Signal(32)
        enough, late = Signal(), Signal()
        with m.If(self.event):
            m.d.comb += enough.eq(events + 1 >= Mux(self.count == 0, 1, self.count))
        m.d.comb += late.eq((events != 0) & (self.cycles != 0) & (timer >= self.cycles))
        m.d.sync += self.interrupt.eq(enough | late)
        with m.If(enough | late):
            # An event that comes while the time is over belongs to this interrupt too.
            m.d.sync += [events.eq(0), timer.eq(0)]
        with m.Else():
            m.d.sync += [events.eq(events + self.event), timer.eq(Mux(events == 0, 0, timer + 1))]
        return m
