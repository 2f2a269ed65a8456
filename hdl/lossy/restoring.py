"""An integer as a number."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.spec.quantisation import Quantisation

__all__ = ["Restoring"]


class Restoring(wiring.Component):
    """Multiplies an integer by the step, exactly. Combinational.

    ``integer``
        In two's complement.
    ``step``
        The exponent of the step as a number stores it.
    ``negative``, ``exponent``, ``fraction``
        Fields of the number; of the fraction the upper ``bits - 1`` bits, the others are 0.
    """

    def __init__(self, form: Quantisation) -> None:
        self.form = form
        exponent_bits = form.number_type.exponent_bits
        super().__init__(
            {
                "integer": In(form.bits),
                "step": In(exponent_bits),
                "negative": Out(1),
                "exponent": Out(exponent_bits),
                "fraction": Out(form.bits - 1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.form.bits
        negative = self.integer[-1]
        magnitude = Signal(bits)
        m.d.comb += magnitude.eq((self.integer ^ negative.replicate(bits)) + negative)
        # Shifted left until the leading one is at the top; the shifts are the bits by which its place is less.
        shifted: Value = magnitude
        shifts: list[Value] = []
        for level in reversed(range(exact_log2(bits))):
            by = 1 << level
            empty = ~shifted[-by:].any()
            shifts.append(empty)
            shifted = Mux(empty, Cat(Value.cast(0).replicate(by), shifted[:-by]), shifted)
        zero = ~shifted[-1]
        place = ~Cat(reversed(shifts))
        m.d.comb += [
            self.negative.eq(negative),
            self.exponent.eq(Mux(zero, 0, self.step + place)),
            self.fraction.eq(shifted[:-1]),
        ]
        return m
