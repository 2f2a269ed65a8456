"""The bound of the error-bounded stage, for every number and every step."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value

from cdma.hdl.codec.lossy import Restoring, Rounding, Scaling
from cdma.hdl.spec.stage import STAGES, Quantisation, StageConfig

from .bench import Bench, free
from .proof import OWN, Config, Proof


@dataclass(eq=False)
class _WithStep(Bench):
    """A step of any exponent that is offered."""

    form: Quantisation

    def step(self, m: Module) -> Value:
        number = self.form.number_type
        step = free(m, "step", shape=number.exponent_bits)
        least = self.form.least_exponent + number.bias
        greatest = self.form.greatest_exponent + number.bias
        m.d.comb += Assume((step >= least) & (step <= greatest))
        return step


class Bounded(_WithStep):
    """A lane's integer against the number itself, as whole multiples of a small part of the step.

    The parts are so small that each number from half a step on to beyond the limit is a whole number of them.
    """

    def describe(self, m: Module) -> None:
        form, number = self.form, self.form.number_type
        step = self.step(m)
        word = free(m, "word", shape=number.bits)
        m.submodules.scaling = scaling = Scaling(form)
        m.submodules.rounding = rounding = self.rounding(form)
        m.d.comb += [
            scaling.word.eq(word),
            scaling.top.eq(step + form.bits - 2),
            rounding.scaled.eq(scaling.scaled),
        ]
        negative, stored = word[-1], word[number.fraction_bits : -1]
        significand = Mux(stored.any(), 1 << number.fraction_bits, 0) + word[: number.fraction_bits]
        place = Signal(range(-(1 << number.exponent_bits), 1 << number.exponent_bits))
        m.d.comb += place.eq(Mux(stored.any(), stored, 1) - step)
        # A step has 2 ** (fraction_bits + 1) parts.
        part_bits = number.fraction_bits + 1
        parts = Signal(part_bits + form.bits)
        small, large = Signal(), Signal()
        m.d.comb += [
            small.eq(place < -1),
            large.eq(place >= form.bits - 1),
            parts.eq(significand << (place + 1).as_unsigned()[: form.bits.bit_length()]),
        ]
        magnitude = Signal(form.bits)
        integer = rounding.integer.as_signed()
        m.d.comb += magnitude.eq(Mux(integer < 0, -integer, integer))
        error = Signal(part_bits + form.bits + 1)
        m.d.comb += error.eq(
            Mux(
                parts > (magnitude << part_bits),
                parts - (magnitude << part_bits),
                (magnitude << part_bits) - parts,
            )
        )
        half = 1 << (part_bits - 1)
        nan = stored.all() & word[: number.fraction_bits].any()
        beyond = ~small & (large | (parts >= (form.limit << part_bits) + half))
        kept = form.keep_nonzero & (magnitude == 1) & (small | (parts <= half)) & significand.any()
        m.d.comb += Assert(rounding.reported == beyond)
        with m.If(beyond):
            m.d.comb += Assert(integer == Mux(nan, 0, Mux(negative, -form.limit, form.limit)))
        with m.Elif(~kept):
            m.d.comb += Assert(Mux(small, magnitude == 0, (error <= half) & ((error < half) | ~magnitude[0])))
        with m.If(~nan):
            m.d.comb += Assert((integer == 0) | ((integer < 0) == negative))
        if form.keep_nonzero:
            m.d.comb += Assert((integer != 0) | ~significand.any() | nan)
        m.d.comb += [
            Cover(rounding.reported & ~stored.all()),
            Cover(~beyond & (magnitude == form.limit) & negative & (step > 5)),
            Cover(~beyond & ~small & (error == half) & (magnitude > 1)),
        ]

    def rounding(self, form: Quantisation) -> Rounding:
        return Rounding(form)


class Exact(_WithStep):
    """The number that an integer becomes is the integer times the step, and is finite."""

    def describe(self, m: Module) -> None:
        form, number = self.form, self.form.number_type
        step = self.step(m)
        integer = free(m, "integer", shape=form.bits)
        m.submodules.restoring = restoring = Restoring(form)
        m.d.comb += [restoring.integer.eq(integer), restoring.step.eq(step)]
        magnitude = Signal(form.bits)
        m.d.comb += magnitude.eq(Mux(integer[-1], -integer, integer))
        place = Signal(range(-(1 << number.exponent_bits), 1 << number.exponent_bits))
        significand = Signal(form.bits)
        m.d.comb += [
            place.eq(restoring.exponent - step),
            significand.eq((1 << (form.bits - 1)) | restoring.fraction),
        ]
        with m.If(magnitude == 0):
            m.d.comb += Assert(~(restoring.exponent.any() | restoring.fraction.any() | restoring.negative))
        with m.Else():
            m.d.comb += [
                Assert((place >= 0) & (place < form.bits) & ~restoring.exponent.all()),
                # significand * 2 ** (place - (bits - 1)) is the magnitude.
                Assert(
                    (significand << place.as_unsigned()[: form.bits.bit_length()])
                    == magnitude << (form.bits - 1)
                ),
                Assert(restoring.negative == integer[-1]),
            ]
        m.d.comb += [Cover(magnitude == form.limit + 1), Cover((magnitude == 1) & (restoring.exponent == 1))]


_FORMS = [
    *(Quantisation(number, bits) for number in ("fp32", "bf16", "fp16") for bits in (4, 8)),
    Quantisation("fp32", 16),
    Quantisation("fp32", 8, keep_nonzero=True),
]


def _config(form: Quantisation) -> str:
    return f"{form.number} to {form.bits} bits{', keep_nonzero' if form.keep_nonzero else ''}"


def bound_proof(form: Quantisation, named: str) -> Proof:
    """The bound of a quantiser; ``named`` is the configuration in words."""
    return Proof(
        name="quantised_bound",
        config=named,
        claim="every number becomes the nearest integer number of steps, or is reported",
        blocks=(Scaling, Rounding),
        bench=lambda: Bounded(form),
        cover=2,
    )


def exact_proof(form: Quantisation, named: str) -> Proof:
    """That a dequantiser is exact; ``named`` is the configuration in words."""
    return Proof(
        name="restored_exact",
        config=named,
        claim="every integer becomes the number of so many steps, exactly",
        blocks=(Restoring,),
        bench=lambda: Exact(form),
        cover=2,
    )


PROOFS = [
    *(bound_proof(form, _config(form)) for form in _FORMS),
    *(exact_proof(form, _config(form)) for form in _FORMS if not form.keep_nonzero),
]


def own_proofs(block: str, config: Config) -> list[Proof]:
    """The arithmetic of an error-bounded stage, or of an engine's two."""
    form = config.form if isinstance(config, StageConfig) else getattr(config, "quantisation", None)
    if form is None:
        return []
    made = [bound_proof(form, OWN)] if block != STAGES[1] else []
    return [*made, exact_proof(form, OWN)] if block != STAGES[0] else made
