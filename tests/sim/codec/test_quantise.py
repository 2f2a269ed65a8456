"""The specification of the error-bounded stage, held against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.base.errors import ParameterError
from cdma.hdl.spec.stage import NUMBERS, Quantisation
from cdma.sim.codec.number_types import integers_of, words_of
from cdma.sim.codec.quantise import dequantise, quantise

FORMS = [
    Quantisation(number, bits, keep)
    for number in NUMBERS
    for bits in (4, 8, 16)
    for keep in (False, True)
    if bits < NUMBERS[number].bits
]
_FLOATS = {"fp32": np.float32, "fp16": np.float16}


def _value(word: int, form: Quantisation) -> Fraction | None:
    """The number that bits are, in the plainest way; None if it is not finite."""
    number = form.number_type
    fraction = word & ((1 << number.fraction_bits) - 1)
    stored = word >> number.fraction_bits & ((1 << number.exponent_bits) - 1)
    if stored == (1 << number.exponent_bits) - 1:
        return None
    whole = fraction + (1 << number.fraction_bits if stored else 0)
    size = Fraction(whole) * Fraction(2) ** (max(stored, 1) - number.bias - number.fraction_bits)
    return -size if word >> (number.bits - 1) else size


def _words(values: list[int], form: Quantisation) -> np.ndarray[Any, Any]:
    return np.array(values, f"u{form.number_type.bits // 8}")


@st.composite
def _cases(draw: st.DrawFn) -> tuple[Quantisation, int, list[int]]:
    form = draw(st.sampled_from(FORMS))
    number = form.number_type
    exponent = draw(st.integers(form.least_exponent, form.greatest_exponent))
    # Exponents about the step are what matters; any other bits come too.
    near = st.builds(
        lambda sign, place, fraction: (
            sign << (number.bits - 1)
            | min(max(exponent + place + number.bias, 0), (1 << number.exponent_bits) - 1)
            << number.fraction_bits
            | fraction
        ),
        st.integers(0, 1),
        st.integers(-4, form.bits + 1),
        st.one_of(
            st.integers(0, (1 << number.fraction_bits) - 1),
            st.integers(0, number.fraction_bits).map(lambda bit: (1 << number.fraction_bits) - (1 << bit)),
            st.integers(0, number.fraction_bits - 1).map(lambda bit: 1 << bit),
        ),
    )
    words = draw(st.lists(st.one_of(near, st.integers(0, (1 << number.bits) - 1)), min_size=1, max_size=20))
    return form, exponent, words


@given(_cases())
def test_every_number_is_within_the_bound_or_reported(case: tuple[Quantisation, int, list[int]]) -> None:
    form, exponent, words = case
    result = quantise(_words(words, form), exponent, form)
    step = Fraction(2) ** exponent
    reported = []
    for index, (word, integer) in enumerate(zip(words, map(int, result.integers), strict=True)):
        value = _value(word, form)
        assert -form.limit <= integer <= form.limit
        # Of two integers as near, Python rounds to the even one, too.
        nearest = None if value is None else round(value / step)
        if nearest is None or abs(nearest) > form.limit:
            reported.append(index)
            nan = value is None and word & ((1 << form.number_type.fraction_bits) - 1)
            sign = -1 if word >> (form.number_type.bits - 1) else 1
            assert integer == (0 if nan else sign * form.limit)
            continue
        assert value is not None
        if form.keep_nonzero and value and not nearest:
            assert integer == (1 if value > 0 else -1)
            assert abs(value - integer * step) < step
        else:
            assert integer == nearest
            assert abs(value - integer * step) <= step / 2
        (back,) = map(int, dequantise(result.integers[index : index + 1], exponent, form))
        assert _value(back, form) == integer * step
    assert result.reported == len(reported)
    assert result.first == (reported[0] if reported else 0)


@pytest.mark.parametrize("form", [form for form in FORMS if form.number in _FLOATS], ids=str)
def test_the_way_back_is_what_numpy_says(form: Quantisation) -> None:
    integers = np.arange(-form.limit - 1, form.limit + 1)
    for exponent in (form.least_exponent, -3, 0, form.greatest_exponent):
        kind = _FLOATS[form.number]
        expected = np.ldexp(integers.astype(np.float64), exponent).astype(kind)
        assert np.array_equal(dequantise(integers, exponent, form).view(kind), expected)
        assert np.isfinite(expected).all()


def test_examples() -> None:
    form = Quantisation()
    numbers = np.array(
        [0, -0.0, 0.25, 0.75, -0.75, 1.25, 63.4, 63.6, -63.75, np.nan, -np.inf, 1e-40], np.float32
    )
    result = quantise(numbers.view(np.uint32), -1, form)
    assert result.integers.tolist() == [0, 0, 0, 2, -2, 2, 127, 127, -127, 0, -127, 0]
    assert (result.reported, result.first) == (3, 8)
    assert quantise(numbers.view(np.uint32), -1, Quantisation(keep_nonzero=True)).integers[
        [2, 11]
    ].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: Quantisation("fp64"), "number is 'fp64'; it must be one of fp32, bf16, fp16"),
        (lambda: Quantisation("bf16", 16), "bits is 16; it must be one of 4, 8: "),
        (lambda: Quantisation(keep_nonzero=1), "keep_nonzero is 1; it must be true or false"),  # type: ignore[arg-type]
        (lambda: quantise(np.zeros(1, np.uint32), 121, Quantisation()), "exponent is 121; .* -126 to 120"),
        (
            lambda: quantise(np.zeros(1, np.float32), 0, Quantisation()),
            "type float32; they must be .* uint32",
        ),
        (lambda: dequantise(np.array([-9]), 0, Quantisation(bits=4)), "integers of 4 bits are -8 to 7"),
    ],
)
def test_refusals(refused: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        refused()


@pytest.mark.parametrize("bits", [4, 8, 16])
def test_every_integer_is_a_word(bits: int) -> None:
    limit = 1 << bits - 1
    integers = np.arange(-limit, limit).astype(f"i{max(8, bits) // 8}")
    words = words_of(integers, bits)
    assert words.tolist() == [integer % (1 << bits) for integer in range(-limit, limit)]
    assert integers_of(words, bits).tolist() == integers.tolist()
