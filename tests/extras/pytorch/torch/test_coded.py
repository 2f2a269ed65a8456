"""What torch makes of numbers is what the specification of the quantiser makes of them, bit for bit. The steps that
policies choose, worked out by hand, and the errors that follow from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from cdma.base.errors import ParameterError
from cdma.hdl.spec.stage import NUMBERS as TYPES
from cdma.hdl.spec.stage import Quantisation
from cdma.sim.codec.quantise import dequantise, quantise
from cdma.torch import saved
from cdma.torch.coded import NUMBERS, Step, coded, quantised
from cdma.torch.memory import Observer
from cdma.torch.policies import AcGc, Bound, Comet, Lossless, Readers, Statistics


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


LAYER = Statistics(
    loss=0.5, square=0.25, weight=3.0, weight_squares=4.0, momentum=6.0, terms=16.0, outputs=3.0, uses=2.0
)
#: Eight numbers, of which a quarter is not zero.
FLAT = torch.tensor([0.0, 2.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0])


def test_comet_by_hand() -> None:
    """The deviation of the error is 0.32 * 0.5 * sqrt(16 / 4) = 0.32 bounds, and may be 0.01 * 3; a step is two bounds."""
    assert Comet().step(LAYER, FLAT) == pytest.approx(2 * 0.03 / 0.32)
    assert Comet(part=0.03, factor=0.58).step(LAYER, FLAT) == pytest.approx(2 * 0.09 / 0.58)
    assert Comet().step(LAYER, torch.zeros(8)) == 0
    assert Comet(momentum=_optimiser()).step(LAYER, FLAT) == pytest.approx(2 * 0.06 / 0.32)


@pytest.mark.parametrize(
    ("optimiser", "expected"),
    [
        # The gradients before are 1 and 3 everywhere.
        (lambda weights: torch.optim.SGD(weights, 0.0, momentum=0.5), 3.5),
        (lambda weights: torch.optim.AdamW(weights, 0.0, betas=(0.5, 0.9)), 3.5),
        (lambda weights: torch.optim.SGD(weights, 0.0), 5.0),
    ],
    ids=["sgd", "adamw", "none"],
)
def test_the_momentum_is_the_sum_of_the_gradients_before(
    optimiser: Callable[[Iterator[nn.Parameter]], torch.optim.Optimizer], expected: float
) -> None:
    """Before the first step, and with an optimiser that has none, it is the gradient."""
    layer = nn.Linear(4, 4, bias=False)
    steps = optimiser(layer.parameters())
    observer = Observer(steps)
    for value in (1.0, 3.0, 5.0):
        steps.zero_grad()
        output = layer(torch.full((1, 4), value))
        observer.watch(layer, output)
        output.sum().backward()
        steps.step()
        assert observer.statistics[layer].weight == pytest.approx(value)
        if value == 1.0:
            assert observer.statistics[layer].momentum == pytest.approx(1.0)
    assert observer.statistics[layer].momentum == pytest.approx(expected)


def test_a_momentum_is_that_of_an_optimiser() -> None:
    with pytest.raises(ParameterError, match="must be an optimiser of PyTorch"):
        Comet(momentum=0.9)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: Comet(part=-0.01), "part is -0.01; it must be a number from"),
        (lambda: Comet(factor=float("nan")), "factor is nan"),
        (lambda: AcGc(tightness="8"), "tightness is '8'; it must be a number from -64 to 64"),
        (lambda: AcGc(others=3), "others is 3; it must be a policy"),
        (lambda: Bound(relative=-3, keep_nonzero="no"), "keep_nonzero is 'no'; it must be true or false"),
        (lambda: Lossless(dense=2), "dense is 2; it must be true or false"),
    ],
)
def test_parameters_that_are_none_are_refused_when_a_policy_is_made(
    refused: Callable[[], object], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        refused()


def _optimiser() -> torch.optim.Optimizer:
    return torch.optim.SGD([nn.Parameter(torch.zeros(1))], 0.1)


def test_acgc_by_hand() -> None:
    """dx**2 = 2**-1 * 4 / (2 * 8 * 3 * 2 * 0.25) = 1 / 12, and the deviation of a step's errors is step / sqrt(12)."""
    assert AcGc().step(LAYER, FLAT) == pytest.approx(1)
    assert AcGc(tightness=5).step(LAYER, FLAT) == pytest.approx(0.25)
    assert AcGc().step(replace(LAYER, square=0.0), FLAT) == 0


@pytest.mark.parametrize("peak", [2.0, 3.0, 3.72, 3.99])
@pytest.mark.parametrize(
    "bound", [Bound(relative=-3, keep_nonzero=False), Bound(absolute=-2, keep_nonzero=False)]
)
def test_the_error_comes_up_to_the_bound_and_not_beyond_it(bound: Bound, peak: float) -> None:
    """A bound relative to the peak is a power of two, so the error may stay below it, but never below its half."""
    inputs = torch.linspace(-peak, peak, 2001).reshape(1, -1)
    model = nn.Linear(2001, 2)
    with saved(model, bound) as context:
        model(inputs).sum().backward()
    allowed = 0.25 if bound.relative is None else peak * 2.0**bound.relative
    assert 0.49 * allowed < context.report.error <= allowed
    assert (model.weight.grad - inputs).abs().max() == pytest.approx(context.report.error, rel=1e-3)


@pytest.mark.parametrize(
    ("readers", "expected"),
    [
        (Readers([LAYER], False, False), -3),
        (Readers([LAYER, replace(LAYER, weight=0.3)], False, False), -6),
        (Readers([replace(LAYER, weight=1e9)], False, False), 1),
        (Readers([], True, False), 1),
        (Readers([LAYER], True, True), None),
        (Readers([None], False, False), None),
        (Readers([replace(LAYER, loss=0.0)], False, False), None),
        (Readers([], False, False), None),
    ],
)
def test_the_tightest_reader_decides_and_the_peak_bounds_all(readers: Readers, expected: int | None) -> None:
    """The largest number is 2; a step of 0.1875 is at least 2**-3."""
    assert Comet(others=Lossless()).exponent(readers, 2.0, FLAT) == expected


def test_the_policy_for_others_bounds_the_step() -> None:
    readers = Readers([LAYER], False, True)
    assert Comet(others=Bound(relative=-7)).exponent(readers, 2.0, FLAT) == -5
    assert Comet(others=Bound(relative=-2)).exponent(readers, 2.0, FLAT) == -3
