"""Shares: who is chosen asks, none of a higher level does, and no one of the highest level waits for ever."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.engine.pairs.sharing import Shares

from .bench import Bench, fixed, free
from .proof import REDUCED, Proof

__all__ = ["PROOFS", "Turns"]

_COUNT, _BITS = 3, 2
_MOST = (1 << _BITS) - 1
#: Looks in which all the others use up what they have; a debt of ``_MOST - 1`` takes as many looks again, each after one
#: that fills the accounts; and in the end each of the others may go first.
_LONGEST = _MOST * (_COUNT - 1) * _MOST + _MOST + (_COUNT - 1)


class Turns(Bench):
    """Weights and levels that stay, whatever they are; those who ask and what they move may be any.

    Ghost state: ``waited`` counts the looks in which ``one`` asked, none of a higher level did, and another one was chosen
    or none.
    """

    def __init__(self, shares: Shares) -> None:
        super().__init__()
        self.shares = shares

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.shares
        free(m, "asks", dut.asks)
        free(m, "look", dut.look)
        free(m, "charge", dut.charge)
        free(m, "cost", dut.cost)
        m.d.comb += [
            dut.levels.eq(fixed(m, "levels", data.ArrayLayout(2, _COUNT))),
            dut.weights.eq(fixed(m, "weights", data.ArrayLayout(_BITS, _COUNT))),
        ]
        looked, charged = Signal(), Signal()
        asks, asked = Signal(_COUNT), Signal(_COUNT)
        #: The accounts do not know what they have yet.
        settles = Signal(2)
        m.d.sync += [looked.eq(dut.look), asks.eq(dut.asks)]
        with m.If(dut.look):
            m.d.sync += [asked.eq(asks), charged.eq(0)]
        with m.Elif(dut.charge):
            m.d.sync += charged.eq(1)
        chosen_one = dut.choice.any()
        fills = looked & ~chosen_one
        m.d.sync += settles.eq(Cat(dut.charge, settles[0] | fills))
        m.d.comb += [
            Assume(~dut.charge | (chosen_one & ~dut.look & ~charged)),
            Assume(~dut.look | charged | ~chosen_one),
            Assume(~dut.look | ~(settles.any() | fills)),
            Assume(dut.cost != 0),
        ]

        one = fixed(m, "one", range(_COUNT))
        m.d.comb += Assume(one < _COUNT)
        mine = Signal(2)
        m.d.comb += mine.eq(Cat(dut.levels).word_select(one, 2))
        counts = (
            asks.bit_select(one, 1)
            & ~Cat(asks[number] & (dut.levels[number] > mine) for number in range(_COUNT)).any()
        )
        waited = Signal(range(2 * _LONGEST))
        before = Signal()
        # Whether it was chosen is known a cycle after the look.
        chosen = dut.choice.bit_select(one, 1)
        spent = Signal.like(waited)
        m.d.comb += spent.eq(Mux(before & looked & ~chosen, waited + 1, Mux(looked, 0, waited)))
        m.d.sync += waited.eq(spent)
        with m.If(dut.look):
            m.d.sync += before.eq(counts)
        chosen_level = Signal(2)
        for number in range(_COUNT):
            with m.If(dut.choice[number]):
                m.d.comb += chosen_level.eq(dut.levels[number])
        m.d.comb += [
            Assert((dut.choice & ~asked) == 0),
            Assert((dut.choice & (dut.choice - 1)) == 0),
            Assert(spent <= _LONGEST),
            Cover(spent == _MOST),
        ]
        for number in range(_COUNT):
            m.d.comb += Assert(~(dut.choice.any() & asked[number]) | (dut.levels[number] <= chosen_level))


PROOFS = [
    Proof(
        name="shares",
        config="3 that ask, weights and levels of 2 bits",
        claim="who is chosen asks and none of a higher level does, and with any weights no one of the highest level waits "
        "for ever",
        blocks=(Shares,),
        bench=lambda: Turns(Shares(_COUNT, _BITS, step_log2=0, weight_bits=_BITS, often_log2=1)),
        prepare=REDUCED,
        quick=False,
    )
]
