"""Notices a bus that has stopped answering."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Watchdog"]


class Watchdog(wiring.Component):
    """``fired`` is high once ``waiting`` has been high without ``progress`` for ``limit`` cycles, until
    either changes.

    A limit of 0 never fires.
    """

    limit: In(32)
    waiting: In(1)
    progress: In(1)
    fired: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(32)
        with m.If(~self.waiting | self.progress | (self.limit == 0)):
            m.d.sync += [count.eq(0), self.fired.eq(0)]
        with m.Elif(count == self.limit):
            m.d.sync += self.fired.eq(1)
        with m.Else():
            m.d.sync += count.eq(count + 1)
        return m
