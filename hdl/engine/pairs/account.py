"""What one of several may still move, in units: the least that decides over shares and limits."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Account"]


class Account(wiring.Component):
    """An amount that is added now and then, and not saved; a charge may leave a debt, which is paid off first.

    ``add``, ``amount``, ``often``
        Pulse: a debt is less by so much, or what was left over becomes so much; or as after 2**``often_log2`` of these. It
        waits until nothing changes.
    ``charge``, ``cost``
        Pulse, only while ``rich``, and not in the two cycles after a change: so much is used.
    ``rich``, ``deep``
        High while something is left, and while nothing will be after as many; from the third cycle after a change on.
    """

    def __init__(self, amount_bits: int, cost_bits: int, often_log2: int = 8) -> None:
        self.often_log2 = often_log2
        self.balance = Signal(signed(max(amount_bits, cost_bits) + 1))
        super().__init__(
            {
                "add": In(1),
                "amount": In(amount_bits),
                "often": In(1),
                "charge": In(1),
                "cost": In(cost_bits),
                "rich": Out(1),
                "deep": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        #: What is added to the balance a cycle later.
        step = Signal.like(self.balance)
        late = Signal()
        changed = Signal(2)
        adds = (self.add | late) & ~self.charge & ~changed.any()
        many = self.amount << self.often_log2
        m.d.sync += [
            self.balance.eq(self.balance + step),
            self.rich.eq(self.balance > 0),
            self.deep.eq(self.balance + many <= 0),
            late.eq((self.add | late) & ~adds),
            changed.eq(Cat(self.charge | adds, changed[0])),
            step.eq(0),
        ]
        with m.If(self.charge):
            m.d.sync += step.eq(-self.cost)
        with m.Elif(adds):
            m.d.sync += step.eq(Mux(self.often & self.deep, many, self.amount))
            with m.If(self.rich | (self.often & ~self.deep)):
                m.d.sync += self.balance.eq(0)
        return m
