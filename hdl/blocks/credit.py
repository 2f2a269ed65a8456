"""A counter of credits: how many entries of a queue its writer may still fill."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Credit"]


class Credit(wiring.Component):
    """Counts the credits of a writer, one for each free entry of its queue; ``entries`` at first.

    ``taken``
        Number of credits spent in this cycle, at most ``most``, and none unless ``there`` is high.
    ``given``
        Returns one credit.
    ``there``
        Is high while ``most`` credits may be spent. It comes from a register that does not yet know what was spent
        in the last two cycles, and is low while fewer than ``3 * most`` credits are known to be left.

    ``ahead`` is the number of cycles by which the writer looks at ``there`` before it spends the credits.
    """

    def __init__(self, entries: int, most: int = 1, *, ahead: int = 0) -> None:
        #: Credits that may be spent before it is known.
        self.unknown = (3 + ahead) * most
        assert entries > self.unknown, (entries, most, ahead)
        self.entries = entries
        self.most = most
        super().__init__({"taken": In(range(most + 1)), "given": In(1), "there": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        taken = Signal.like(self.taken)
        given = Signal()
        free = Signal(range(self.entries + 1), init=self.entries)
        m.d.sync += [
            taken.eq(self.taken),
            given.eq(self.given),
            free.eq(free - taken + given),
            self.there.eq(free >= self.unknown),
        ]
        return m
