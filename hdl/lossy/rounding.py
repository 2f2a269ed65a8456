"""A count of steps as an integer."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.spec.quantisation import Quantisation

from .scaling import Scaled

__all__ = ["Rounding"]


class Rounding(wiring.Component):
    """Rounds to the nearest integer, of two as near to the even one. Combinational.

    ``scaled``
        A number in steps.
    ``integer``
        The integer, in two's complement. For a number that is too large it is the limit, of its sign, and for NaN it is 0.
    ``reported``
        The number is NaN, or its integer is beyond the limit.
    """

    def __init__(self, form: Quantisation) -> None:
        self.form = form
        super().__init__({"scaled": In(Scaled(form)), "integer": Out(form.bits), "reported": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        scaled, bits = self.scaled, self.form.bits
        up = Signal()
        rounds: Value = scaled.half & (scaled.rest | scaled.whole[0])
        if self.form.keep_nonzero:
            rounds = rounds | (scaled.nonzero & ~scaled.whole.any())
        m.d.comb += up.eq(rounds)
        # One addition rounds and negates: -(whole + up) is ~whole + ~up.
        sign = scaled.negative.replicate(bits)
        rounded = Signal(bits)
        m.d.comb += rounded.eq((Cat(scaled.whole, 0) ^ sign) + (up ^ scaled.negative))
        beyond = Signal()
        m.d.comb += beyond.eq(scaled.beyond | (scaled.whole.all() & up))
        limit = Cat(1, (~scaled.negative).replicate(bits - 2), scaled.negative)
        m.d.comb += [
            self.reported.eq(beyond),
            self.integer.eq(Mux(beyond, limit & (~scaled.nan).replicate(bits), rounded)),
        ]
        return m
