"""What one of several may still move, in units: the least that decides over shares and limits."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Account"]


class Account(wiring.Component):
    """An amount that is added now and then, and not saved; a charge may leave a debt, which is paid off first.

    ``add``, ``amount``, ``often``
        Pulse: a debt is less by so much, or what was left over becomes so much; or as after 2**``often_log2`` of these.
    ``charge``, ``cost``
        Pulse, only while ``rich``: so much is used. What is added in the same cycle is added in the next one.
    ``rich``, ``deep``
        High while something is left, and while nothing will be after as many.
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
        late = Signal()
        adds = self.add | late
        many = self.amount << self.often_log2
        m.d.comb += [self.rich.eq(self.balance > 0), self.deep.eq(self.balance + many <= 0)]
        m.d.sync += late.eq(adds & self.charge)
        with m.If(self.charge):
            m.d.sync += self.balance.eq(self.balance - self.cost)
        with m.Elif(adds):
            due = Mux(self.rich | self.often, 0, self.balance)
            m.d.sync += self.balance.eq(due + self.amount)
            with m.If(self.often & self.deep):
                m.d.sync += self.balance.eq(self.balance + many)
        return m
