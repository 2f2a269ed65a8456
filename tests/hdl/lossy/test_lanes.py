"""One lane of the error-bounded stage, each way, against the specification."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module

from cdma.hdl.lossy.restoring import Restoring
from cdma.hdl.lossy.rounding import Rounding
from cdma.hdl.lossy.scaling import Scaling
from cdma.hdl.spec.quantisation import NUMBERS, Quantisation
from cdma.sim.lossy.quantise import dequantise, quantise
from cdma.verif.stream.stage.numbers import any_words
from tests.support.simulate import simulate

FORMS = [
    Quantisation(number, bits, keep)
    for number in NUMBERS
    for bits in (4, 8, 16)
    for keep in (False, True)
    if bits < NUMBERS[number].bits
]


def _exponents(form: Quantisation) -> list[int]:
    return [
        form.least_exponent,
        form.least_exponent + 1,
        -3,
        0,
        form.greatest_exponent - 1,
        form.greatest_exponent,
    ]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_to_an_integer(form: Quantisation) -> None:
    m = Module()
    m.submodules.scaling = scaling = Scaling(form)
    m.submodules.rounding = rounding = Rounding(form)
    m.d.comb += rounding.scaled.eq(scaling.scaled)
    source = random.Random(1)

    async def check(ctx: Any) -> None:
        for exponent in _exponents(form):
            ctx.set(scaling.top, exponent + form.number_type.bias + form.bits - 2)
            words = any_words(source, form, exponent, 300)
            for word in words:
                ctx.set(scaling.word, word)
                await ctx.delay(1e-9)
                one = quantise(np.array([word], f"u{form.number_type.bits // 8}"), exponent, form)
                expected = int(one.integers[0]) & ((1 << form.bits) - 1)
                assert (ctx.get(rounding.integer), ctx.get(rounding.reported)) == (expected, one.reported), (
                    hex(word)
                )

    simulate(m, check)


@pytest.mark.parametrize("form", [form for form in FORMS if not form.keep_nonzero], ids=str)
def test_to_a_number(form: Quantisation) -> None:
    dut = Restoring(form)
    number = form.number_type
    integers = range(-form.limit - 1, form.limit + 1)
    chosen = integers if form.bits < 16 else [*random.Random(2).sample(integers, 500), 0, 1, -1]

    async def check(ctx: Any) -> None:
        for exponent in _exponents(form):
            ctx.set(dut.step, exponent + number.bias)
            expected = dequantise(np.array(chosen), exponent, form)
            for integer, word in zip(chosen, map(int, expected), strict=True):
                ctx.set(dut.integer, integer & ((1 << form.bits) - 1))
                await ctx.delay(1e-9)
                got = (
                    ctx.get(dut.negative) << (number.bits - 1)
                    | ctx.get(dut.exponent) << number.fraction_bits
                    | ctx.get(dut.fraction) << (number.fraction_bits - form.bits + 1)
                )
                assert got == word, integer

    simulate(dut, check)
