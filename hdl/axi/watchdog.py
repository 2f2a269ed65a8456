"""Notices a bus that has stopped answering."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Timebase", "Watchdog"]

#: A watchdog's time is measured in eighths.
_PARTS_LOG2 = 3


class Timebase(wiring.Component):
    """The time that all watchdogs and time stamps share.

    ``watchdog_cycles``
        The time of the watchdogs, in cycles; 0 turns them off.
    ``now``
        Counts cycles.
    ``tick``
        Pulse from a register, each time that a part of ``watchdog_cycles`` has passed: an eighth, rounded down, and a cycle.
    """

    watchdog_cycles: In(32)
    now: Out(32)
    tick: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(32 - _PARTS_LOG2)
        # The count may be greater, because the time may have become shorter meanwhile.
        over = count >= self.watchdog_cycles[_PARTS_LOG2:]
        m.d.sync += [
            count.eq(Mux(over, 0, count + 1)),
            self.tick.eq(over & (self.watchdog_cycles != 0)),
            self.now.eq(self.now + 1),
        ]
        return m


class Watchdog(wiring.Component):
    """Notices that nothing has happened for too long. It waits for nine ticks, because the first may come at once.

    ``tick``
        That of the :class:`Timebase`.
    ``waiting``
        Something is expected.
    ``progress``
        Something has happened.
    ``fired``
        High once ``waiting`` has been high without ``progress`` for the ``watchdog_cycles`` of the timebase, or up to an
        eighth of that and ten cycles longer, until either changes.
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
