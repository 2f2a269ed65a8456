"""The check of a descriptor ends in time, and ends as it began."""

from __future__ import annotations

from amaranth.hdl import Assert, Cover, Module, Signal

from cdma.hdl.axi.port_shape import PortShape
from cdma.hdl.engine.channel.checker import Checker
from cdma.hdl.engine.channel.slots import ADDRESS_BYTES

from .bench import Bench, free, obey
from .proof import Proof

__all__ = ["PROOFS", "Resting"]

#: Cycles after the one in which a check begins, until that in which it ends: without an objection and with one.
_CHECKED, _OBJECTED = 20, 28
#: The place while nothing is scanned, as a slot sees it.
_AT_REST = 1 << ADDRESS_BYTES - 1


class Resting(Bench):
    """A check ends in time or is given up, and leaves the place at rest.

    Ghost state: ``age``, the cycles since the check began.
    """

    def __init__(self, checker: Checker) -> None:
        super().__init__()
        self.checker = checker

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.checker
        obey(m, dut.requests, "request")
        for name in ("run", "flush", "windows.base", "windows.limit", "slot.ready"):
            target = dut
            for part in name.split("."):
                target = getattr(target, part)
            free(m, name.replace(".", "_"), target)
        age = Signal(range(_OBJECTED + 2))
        with m.If(dut.flush | dut.slot.push):
            m.d.sync += age.eq(0)
        with m.Elif(dut.slot.begin | (age != 0)):
            m.d.sync += age.eq(age + 1)
        m.d.comb += [
            Assert(age <= _OBJECTED),
            Assert(~(dut.slot.push & dut.slot.starts) | (age <= _CHECKED)),
            Assert(dut.busy == (age != 0)),
            Assert(~dut.slot.begin | (age == 0)),
            Assert(~dut.slot.push | (age != 0)),
            Assert(dut.busy | (dut.slot.place == _AT_REST)),
            Cover(dut.slot.push & (age == _CHECKED)),
            Cover(dut.slot.push & (age == _OBJECTED)),
        ]


def _shape(address_bits: int) -> PortShape:
    """A port of two words of a byte; of its other sizes the checker knows nothing."""
    return PortShape(
        word_bits=8, data_bits=16, address_bits=address_bits, burst=2, outstanding=2, buffer=8, span_bits=8
    )


def _resting() -> Proof:
    return Proof(
        name="checker_rests",
        config="16 bits of address",
        claim="a check that is not given up takes at most 21 cycles if nothing is wrong, and 29 otherwise; it leaves its"
        " place at rest, also if it is given up",
        bench=lambda: Resting(Checker(_shape(16), _shape(16), 8, compressing=True)),
        cover=_OBJECTED + 3,
        quick=False,
    )


PROOFS = [_resting()]
