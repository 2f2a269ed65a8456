"""What torch makes of numbers is what the specification of the quantiser makes of them, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from cdma.hdl.spec.quantisation import NUMBERS as TYPES  # noqa: E402
from cdma.hdl.spec.quantisation import Quantisation  # noqa: E402
from cdma.sim.codec.quantise import dequantise, quantise  # noqa: E402
from cdma.torch.coded import NUMBERS, Step, coded, quantised  # noqa: E402


def bits_of(tensor):
    size = tensor.element_size()
    return tensor.view({2: torch.int16, 4: torch.int32}[size]).numpy().view(f"u{size}")


@pytest.mark.parametrize(("keep_nonzero", "code_bits"), [(False, (1,)), (True, (2,))])
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_integers_are_those_of_the_specification(dtype, code_bits, keep_nonzero):
    number = TYPES[NUMBERS[dtype]]
    rng = np.random.default_rng(0)
    for bits in (4, 8, 16):
        if bits >= number.bits:
            continue
        form = Quantisation(NUMBERS[dtype], bits, keep_nonzero)
        for exponent in (form.least_exponent, -3, 0, form.greatest_exponent):
            # Halves of a step among them, and all places about the limit.
            words = rng.integers(0, 1 << number.bits, 301, f"u{number.bits // 8}")
            near = np.clip(rng.integers(-4, bits, 301) + exponent + number.bias, 0, 2 * number.bias)
            sparse = np.where(rng.random(301) < 0.5, words & (1 << (number.fraction_bits - 1)), words)
            fraction = sparse & ((1 << number.fraction_bits) - 1)
            sign = words & (1 << (number.bits - 1))
            words = np.where(
                rng.random(301) < 0.2, 0, sign | near.astype(words.dtype) << number.fraction_bits | fraction
            ).astype(words.dtype)
            whole = quantise(words, exponent, form)
            step = Step(exponent, (bits,), code_bits, keep_nonzero)
            numbers = torch.from_numpy(words.view(f"i{number.bits // 8}")).view(dtype)
            assert (quantised(numbers, step) is None) == (whole.reported > 0)
            fits = np.array([not quantise(words[at : at + 1], exponent, form).reported for at in range(301)])
            found = quantised(numbers[torch.from_numpy(fits)], step)
            assert found is not None
            expected = dequantise(quantise(words[fits], exponent, form).integers, exponent, form)
            assert (bits_of(found.restored()) == expected).all()
            assert found.bits == bits


def test_numbers_that_do_not_fit_take_more_bits():
    numbers = torch.tensor([0.0, 1.0, -9.0])
    assert quantised(numbers, Step(0, (4,))) is None
    found = quantised(numbers, Step(0, (4, 8)))
    assert found is not None
    assert (found.bits, found.error) == (8, 0)
    # The error is finer than any step of this type: nothing is lost instead.
    assert quantised(numbers.to(torch.float16), Step(-40)) is None
    # A number of 16 bits gains nothing by as many.
    assert quantised(torch.full((9,), 1000.0, dtype=torch.bfloat16), Step(-9, (4, 16))) is None


def test_error_and_bytes():
    numbers = torch.tensor([0.0, 0.4, 1.0, -2.6])
    found = quantised(numbers, Step(0, (4,), (1,), keep_nonzero=False))
    assert found is not None
    assert found.restored().tolist() == [0, 0, 1, -3]
    assert found.error == pytest.approx(0.4)
    assert found.squares == pytest.approx(0.32)
    # A header of 32 bits, two integers of 4, and the exponent.
    assert found.size == 4 + 1 + 1
    # Codes of two bits, which have all three integers, and their table.
    found = quantised(numbers, Step(0, (4,), (2,)))
    assert found is not None
    assert found.size == 8 + 3 + 1


@pytest.mark.parametrize(
    ("dtype", "ratio"),
    [(torch.float32, 3.5), (torch.int64, 4.5), (torch.bool, 3.9), (torch.uint8, 2.6), (torch.float64, 3.5)],
    ids=str,
)
def test_without_loss(dtype, ratio):
    numbers = (torch.arange(8192) % 4 == 0).to(dtype)
    if dtype.is_floating_point:
        numbers *= torch.arange(8192).to(dtype) + torch.pi
    found = coded(numbers)
    assert torch.equal(found.restored(), numbers)
    assert numbers.nbytes / found.size > ratio
