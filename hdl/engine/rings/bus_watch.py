"""Notices that the bus no longer answers one kind of transfer of a ring."""

from amaranth.hdl import Module, Signal, Value

from cdma.hdl.axi.watchdog import Watchdog

__all__ = ["BusWatch"]


class BusWatch:
    """A watchdog, and whether its error is still to be logged, as signals of one module.

    ``fires``
        Pulse: the time has passed.
    ``stuck``
        High from then on until the bus answers.
    ``lost``
        High from the cycle after ``fires`` until the error is logged.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.watchdog = Watchdog()
        self.fires = Signal(name=f"{name}_fires")
        self.stuck = self.watchdog.fired
        self.lost = Signal(name=f"{name}_lost")

    def watch(self, m: Module, tick: Value, waiting: Value, progress: Value) -> None:
        """Measures the time with ``tick`` while there is a transfer ``waiting`` and no ``progress``."""
        m.submodules[f"{self.name}_watchdog"] = self.watchdog
        was = Signal(name=f"{self.name}_was")
        # The bus need not reach the watchdog within the cycle.
        moved = Signal(name=f"{self.name}_moved")
        m.d.comb += [
            self.watchdog.tick.eq(tick),
            self.watchdog.waiting.eq(waiting),
            self.watchdog.progress.eq(moved),
            self.fires.eq(self.watchdog.fired & ~was),
        ]
        m.d.sync += [was.eq(self.watchdog.fired), moved.eq(progress)]
        with m.If(self.fires):
            m.d.sync += self.lost.eq(1)

    def forget(self, m: Module, logged: Value) -> None:
        """Ends ``lost`` once the error is ``logged``."""
        with m.If(logged):
            m.d.sync += self.lost.eq(0)
