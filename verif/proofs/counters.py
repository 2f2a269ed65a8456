"""Counters: a wide one has the sum, and credits are never more than there are."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value

from cdma.hdl.blocks.arithmetic import WideCounter
from cdma.hdl.blocks.queues import Credit

from .bench import Bench, free, last_cycle
from .proof import Proof

__all__ = ["PROOFS", "Credits", "Sum"]


class Sum(Bench):
    """The value is the sum of what was added since the last clear, but for held cycles, modulo its width. The ghost adds in
    one piece."""

    def __init__(self, counter: WideCounter, most: int) -> None:
        super().__init__()
        self.counter = counter
        self.most = most

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.counter
        for name in ("clear", "first", "amount", "hold"):
            free(m, name, getattr(dut, name))
        total = Signal.like(dut.value)
        with m.If(~dut.hold):
            m.d.sync += total.eq(Mux(dut.clear, dut.first, total) + dut.amount)
        before = last_cycle(m, total, "total_before")
        m.d.comb += [
            Assume(dut.amount <= self.most),
            Assume(dut.first <= self.most),
            Assert(dut.value == total),
            # The carry has reached the upper half, and the counter has wrapped.
            Cover(total[-1] & ~before[-1]),
            Cover(before.all() & (total == 0) & ~last_cycle(m, dut.clear, "was_cleared")),
        ]


class Credits(Bench):
    """A writer that looks at ``there`` never spends more credits than there are entries.

    Ghost state: ``used`` counts the entries in use, by what was spent and returned, without a delay.
    """

    def __init__(self, credit: Credit, ahead: int) -> None:
        super().__init__()
        self.credit = credit
        self.ahead = ahead

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.credit
        free(m, "taken", dut.taken)
        free(m, "given", dut.given)
        seen: Value = dut.there
        for number in range(self.ahead):
            seen = last_cycle(m, seen, f"there_{number + 1}_before", init=1)
        entries = dut.entries
        used = Signal(range(entries + dut.most + 1))
        m.d.sync += used.eq(used + dut.taken - dut.given)
        quiet = Signal(range(4))
        with m.If((dut.taken != 0) | dut.given):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != 3):
            m.d.sync += quiet.eq(quiet + 1)
        m.d.comb += [
            Assume(dut.taken <= dut.most),
            Assume((dut.taken == 0) | seen),
            # An entry is free again at the earliest in the cycle after it was filled.
            Assume(~dut.given | (used != 0)),
            Assert(used <= entries),
            # Once nothing has changed for three cycles, it says exactly whether enough is left: no deadlock.
            Assert((quiet != 3) | (dut.there == (entries - used >= dut.unknown))),
            Cover(used == entries - (dut.unknown - (2 + self.ahead) * dut.most) + 1),
            Cover((quiet == 3) & ~dut.there),
        ]


def _sum(most: int, width: int, lookahead: bool) -> Proof:
    return Proof(
        name="wide_counter",
        config=f"up to {most}, {width} bits" + (", lookahead" if lookahead else ""),
        claim="the value is the sum of all amounts since the last clear, but those while it is held",
        blocks=(WideCounter,),
        bench=lambda: Sum(WideCounter(most, width, pipelined=lookahead), most),
        cover=72,
    )


def _credits(entries: int, most: int, ahead: int) -> Proof:
    return Proof(
        name="credit",
        config=f"{entries} entries, {most} at once, {ahead} ahead",
        claim="no entry is spent twice, and a writer is held up only while fewer entries are free than it may be late by",
        blocks=(Credit,),
        bench=lambda: Credits(Credit(entries, most, ahead=ahead), ahead),
    )


PROOFS = [
    _sum(1, 6, False),
    _sum(1, 6, True),
    _sum(2, 7, False),
    _sum(2, 7, True),
    _credits(8, 1, 0),
    _credits(8, 2, 0),
    _credits(8, 1, 2),
]
