"""Chooses whose turn it is: by level first, and within a level by weight."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.spec.shares import LEVEL_BITS, WEIGHT_BITS

from .account import Account

__all__ = ["Shares"]


def _lowest(bits: Value) -> Value:
    """The lowest bit that is set, alone."""
    return (bits & -bits)[: len(bits)]


class Shares(wiring.Component):
    """Chooses one of ``count``. Of those that ask only the ones of the highest level count. Each has an account: its turns
    go on while something is left in it. When none of those that count has anything left, all of that level get their
    weight; so over time what they move is as their weights, and none of a level waits for ever.

    ``asks``
        Who asks, one bit for each, in the cycle before ``look``.
    ``levels``, ``weights``
        Of each. A weight of 0 counts as 1.
    ``look``
        Chooses anew, three cycles or more after a charge and after a look without a choice. A look that finds no
        account with anything left fills these, often at once if all are deep in debt.
    ``choice``
        One bit, or none: who was chosen, from the cycle after ``look`` to the next ``look``.
    ``charge``, ``cost``
        Pulse, once between a choice and the next look: who was chosen moves so many units. One that is chosen and moves
        nothing pays, too: otherwise it could have every turn.
    ``step_log2``
        A weight of 1 is worth 2**step_log2 units.
    """

    def __init__(
        self,
        count: int,
        cost_bits: int,
        *,
        step_log2: int,
        weight_bits: int = WEIGHT_BITS,
        often_log2: int = 8,
    ) -> None:
        self.count = count
        self.step_log2 = step_log2
        self.accounts = [Account(weight_bits + step_log2, cost_bits, often_log2) for _ in range(count)]
        super().__init__(
            {
                "asks": In(count),
                "levels": In(data.ArrayLayout(LEVEL_BITS, count)),
                "weights": In(data.ArrayLayout(weight_bits, count)),
                "look": In(1),
                "choice": Out(count),
                "charge": In(1),
                "cost": In(cost_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        #: Those that ask, and none of a higher level does.
        counts = Signal(self.count)
        able = Signal(self.count)
        often = Signal()
        #: Those after the one that was chosen last: the turn goes round.
        after = Signal(self.count)
        m.d.comb += [
            able.eq(counts & Cat(account.rich for account in self.accounts)),
            often.eq(~(counts & ~Cat(account.deep for account in self.accounts)).any()),
        ]
        later = able & after
        with m.If(self.look):
            m.d.sync += self.choice.eq(_lowest(Mux(later.any(), later, able)))
        with m.If(self.choice.any()):
            m.d.sync += after.eq(Cat(self.choice[:number].any() for number in range(self.count)))
        for number, account in enumerate(self.accounts):
            m.submodules[f"account_{number}"] = account
            weight, level = self.weights[number], self.levels[number]
            above = Cat(ask & (other > level) for ask, other in zip(self.asks, self.levels, strict=True))
            mates = Cat(each & (other == level) for each, other in zip(counts, self.levels, strict=True))
            m.d.sync += counts[number].eq(self.asks[number] & ~above.any())
            m.d.comb += [
                account.add.eq(self.look & ~able.any() & mates.any()),
                account.often.eq(often),
                account.amount.eq(Mux(weight == 0, 1, weight) << self.step_log2),
                account.charge.eq(self.charge & self.choice[number]),
                account.cost.eq(self.cost),
            ]
        return m
