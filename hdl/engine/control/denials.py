"""Counts the accesses to registers that were refused, and keeps the first."""

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.spec.registers.guards import DENIED_BITS

__all__ = ["Denials", "Denied"]


class Denied(data.StructLayout):
    """A refused access, in the cycle in which ``valid`` is high."""

    def __init__(self, address_bits: int) -> None:
        super().__init__({"valid": 1, "address": address_bits, "prot": 3})


class Denials(wiring.Component):
    """What the register ``denied`` shows.

    ``write``, ``read``
        The accesses that are refused; of two in one cycle the write counts as the first.
    ``clear``
        Pulse: forgets all; an access that is refused in the same cycle is forgotten, too.
    ``count``
        Stays at its largest value.
    """

    def __init__(self, address_bits: int) -> None:
        super().__init__(
            {
                "write": In(Denied(address_bits)),
                "read": In(Denied(address_bits)),
                "clear": In(1),
                "address": Out(address_bits),
                "prot": Out(3),
                "is_write": Out(1),
                "count": Out(DENIED_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        most = Const((1 << DENIED_BITS) - 1, DENIED_BITS)
        total = Signal(DENIED_BITS + 1)
        m.d.comb += total.eq(self.count + self.write.valid + self.read.valid)
        with m.If(self.clear):
            m.d.sync += self.count.eq(0)
        with m.Elif(total[-1]):
            m.d.sync += self.count.eq(most)
        with m.Else():
            m.d.sync += self.count.eq(total)
        with m.If(self.count == 0):
            with m.If(self.write.valid):
                m.d.sync += [
                    self.address.eq(self.write.address),
                    self.prot.eq(self.write.prot),
                    self.is_write.eq(1),
                ]
            with m.Else():
                m.d.sync += [
                    self.address.eq(self.read.address),
                    self.prot.eq(self.read.prot),
                    self.is_write.eq(0),
                ]
        return m
