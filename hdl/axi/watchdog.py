"""Notices a bus that has stopped answering."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Timebase", "Watchdog"]

#: Parts that a watchdog's time is measured in.
_PARTS_LOG2 = 3


class Timebase(wiring.Component):
    """What all that measure time share.

    ``now``
        Counts cycles.
    ``tick``
        High for one cycle each time that a part of ``watchdog_cycles`` has passed: an eighth, rounded down, and a
        cycle. Never where that is 0.
    """

    watchdog_cycles: In(32)
    now: Out(32)
    tick: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(32 - _PARTS_LOG2)
        # Not only when equal: the time may have been made shorter meanwhile.
        over = count >= self.watchdog_cycles[_PARTS_LOG2:]
        m.d.comb += self.tick.eq(over & (self.watchdog_cycles != 0))
        m.d.sync += count.eq(Mux(over, 0, count + 1))
        m.d.sync += self.now.eq(self.now + 1)
        return m


class Watchdog(wiring.Component):
    """``fired`` is high once ``waiting`` has been high without ``progress`` for the time that ``tick`` divides, until
    either changes: at the earliest after the ``watchdog_cycles`` of the :class:`Timebase`, at the latest an eighth
    of that and ten cycles later.

    Nine ticks are waited for, because the first may come at once.
    """

    tick: In(1)
    waiting: In(1)
    progress: In(1)
    fired: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts = Signal(range((1 << _PARTS_LOG2) + 1))
        with m.If(~self.waiting | self.progress):
            m.d.sync += [parts.eq(0), self.fired.eq(0)]
        with m.Elif(self.tick):
            with m.If(parts[-1]):
                m.d.sync += self.fired.eq(1)
            with m.Else():
                m.d.sync += parts.eq(parts + 1)
        return m
