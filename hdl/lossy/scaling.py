"""A number as a count of steps, not yet rounded."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.spec.quantisation import Quantisation

__all__ = ["Scaled", "Scaling"]


class Scaled(data.StructLayout):
    """The magnitude of a number in steps.

    ``negative``
        The sign.
    ``whole``, ``half``, ``rest``
        The whole steps, the bit after them, and whether anything is left beyond it.
    ``beyond``, ``nan``
        The number is too large, infinite or NaN, so that the others say nothing; it is NaN.
    ``nonzero``
        The number is not zero.
    """

    def __init__(self, form: Quantisation) -> None:
        super().__init__(
            {
                "negative": 1,
                "whole": form.bits - 1,
                "half": 1,
                "rest": 1,
                "beyond": 1,
                "nan": 1,
                **({"nonzero": 1} if form.keep_nonzero else {}),
            }
        )


class Scaling(wiring.Component):
    """Divides a number by the step: a shift by the difference of two exponents. Combinational.

    ``word``
        The number.
    ``top``
        The stored exponent of the numbers whose leading bit is the first of ``bits - 1`` whole ones: ``bits - 2`` more
        than that of the step.
    ``scaled``
        The number in steps.
    """

    def __init__(self, form: Quantisation) -> None:
        self.form = form
        number = form.number_type
        super().__init__(
            {"word": In(number.bits), "top": In(number.exponent_bits), "scaled": Out(Scaled(form))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number, bits = self.form.number_type, self.form.bits
        fraction = self.word[: number.fraction_bits]
        stored = self.word[number.fraction_bits : -1]
        normal = stored.any()
        # A subnormal number has the exponent of the least normal ones, and no leading one.
        exponent = Signal(number.exponent_bits)
        m.d.comb += exponent.eq(Cat(stored[0] | ~normal, stored[1:]))
        right = Signal(number.exponent_bits + 1)
        m.d.comb += right.eq(self.top - exponent)
        beyond = right[-1]
        few = exact_log2(bits)
        # Shifted by more, not even the bit after the whole steps is left.
        vanishes = right[few:].any()
        kept = Cat(fraction, normal)
        shifted, rest = kept[-bits:], kept[:-bits].any()
        for level in range(few):
            by = 1 << level
            rest = rest | (right[level] & shifted[:by].any())
            shifted = Mux(right[level], shifted[by:], shifted)
        m.d.comb += [
            self.scaled.negative.eq(self.word[-1]),
            Cat(self.scaled.half, self.scaled.whole).eq(Mux(vanishes, 0, shifted)),
            self.scaled.rest.eq(rest),
            self.scaled.beyond.eq(beyond),
            self.scaled.nan.eq(stored.all() & fraction.any()),
        ]
        if self.form.keep_nonzero:
            m.d.comb += self.scaled.nonzero.eq(normal | fraction.any())
        return m
