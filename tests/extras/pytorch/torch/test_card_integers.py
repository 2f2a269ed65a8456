"""What a GPU makes of numbers is what the host makes of them, bit for bit, in Triton's interpreter."""

from __future__ import annotations

import pytest

from tests.extras.pytorch.interpreted import interpreter, torch

import numpy as np  # isort: skip
from hypothesis import given, settings  # isort: skip
from hypothesis import strategies as st  # isort: skip
from cdma.gpu.decoder import restored_numbers
from cdma.gpu.encoder import compress_numbers
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import NUMBERS as TYPES
from cdma.hdl.spec.stage import Quantisation
from cdma.sim.codec.model import decompress
from cdma.sim.codec.quantise import dequantise, quantise
from cdma.torch.coded import NUMBERS, Step, quantised, sampling
from cdma.torch.on_card import quantised_there

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("one_thread"),
    # What numpy warns of in the interpreter, infinity and NaN, is what a GPU makes without a word.
    pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning"),
]

FORMATS = [Format(8), Format(8, code_bits=2, values=(0, 1, 255))]


def corners(dtype, exponent, rng):
    """Bits of numbers: all sizes, halves of a step, subnormal numbers, and all about a half, one and the limit."""
    number = TYPES[NUMBERS[dtype]]
    one, top = 1 << number.fraction_bits, ((1 << number.exponent_bits) - 1) << number.fraction_bits
    step = (exponent + number.bias) << number.fraction_bits
    limit = step + 6 * one + one - one // 128
    about = [
        0,
        one // 2,
        one,
        top,
        step - one,
        step,
        step + one // 2,
        step + 6 * one,
        limit,
        limit - one // 64,
    ]
    # Few bits of a fraction lie half way between integers.
    fractions = rng.integers(0, one, 300) & (-one >> rng.integers(0, number.fraction_bits + 1, 300))
    near = np.clip(rng.integers(-4, 7, 300) * one + step, 0, top - one) // one * one + fractions
    magnitudes = np.concatenate([np.add.outer(about, [-1, 0, 1]).ravel(), near])
    magnitudes = magnitudes[(magnitudes >= 0) & (magnitudes < top + one)]
    return np.concatenate([magnitudes, magnitudes + (1 << (number.bits - 1))]).astype(f"u{number.bits // 8}")


def numbers_of(words, dtype):
    return torch.from_numpy(words.view(f"i{words.itemsize}")).view(dtype)


def bits_of(numbers):
    size = numbers.element_size()
    return numbers.view({2: torch.int16, 4: torch.int32}[size]).numpy().view(f"u{size}")


@pytest.mark.parametrize("part", [0, 0.5, 1], ids=["least step", "some step", "greatest step"])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_integers_and_numbers_are_those_of_the_specification(dtype, keep, part):
    form = Quantisation(NUMBERS[dtype], 8, keep)
    exponent = round(form.least_exponent + part * (form.greatest_exponent - form.least_exponent))
    format, fault = FORMATS[keep], torch.zeros(1, dtype=torch.int32)
    words = corners(dtype, exponent, np.random.default_rng(0))
    reported = np.array([quantise(words[at : at + 1], exponent, form).reported for at in range(len(words))])
    fits = words[reported == 0]
    expected = quantise(fits, exponent, form).integers
    found = compress_numbers(numbers_of(fits, dtype), format, exponent, keep)
    made = decompress(found.packed.stream.numpy().tobytes(), len(expected), format).view(np.int8)
    assert (made == expected).all(), [hex(word) for word in fits[made != expected]]
    back = restored_numbers(found.packed, exponent, dtype, fault)
    assert (bits_of(back) == dequantise(expected, exponent, form)).all()
    assert not fault
    # The least of each sign that do not fit, the greatest, and NaN.
    beyond = np.sort(words[reported > 0])
    for word in (beyond[0], beyond[-1], beyond[len(beyond) // 2 - 1], beyond[len(beyond) // 2]):
        assert compress_numbers(numbers_of(np.append(fits[:9], word), dtype), format, exponent, keep) is None


def there(flat, step, fault):
    return quantised_there(flat, flat[:: sampling(flat.numel())], step, fault)


@pytest.mark.parametrize(
    ("dtype", "code_bits"),
    [(torch.float32, (1,)), (torch.bfloat16, (2,)), (torch.float16, (1, 2))],
    ids=str,
)
def test_streams_and_their_account_are_those_of_the_host(dtype, code_bits):
    flat = torch.where(torch.rand(9001) < 0.6, torch.randn(9001), 0).to(dtype)
    step, fault = Step(-4, (8,), code_bits), torch.zeros(1, dtype=torch.int32)
    # The second does not begin where 16 bytes can be read.
    for numbers in (flat, flat[1:]):
        host, card = quantised(numbers, step), there(numbers, step, fault)
        assert card.restored.packed.format == host.restored.format
        assert card.restored.packed.stream.numpy().tobytes() == host.restored.stream
        assert torch.equal(card.restored(), host.restored())
        assert (card.bits, card.error) == (8, host.error)
        assert (card.squares, card.numbers) == pytest.approx((host.squares, host.numbers))
        assert not fault
    # What is not in 8 bits has no integers, whether the sample shows it or not.
    assert there(1000 * flat, step, fault) is None
    flat[-1] = torch.nan
    assert quantised_there(flat, flat[:8], step, fault) is None
    assert there(flat, Step(-4, (4,), code_bits), fault) is None
    # Nor has what needs finer steps than there are.
    assert there(flat, Step(-200, (8,), code_bits), fault) is None


def test_a_kernel_makes_a_stream_of_numbers_and_another_one_numbers_of_it(monkeypatch):
    launched, launch = [], interpreter.GridExecutor.__call__

    def noted(self, *arguments, **options):
        launched.append(self.fn.__name__)
        launch(self, *arguments, **options)

    monkeypatch.setattr(interpreter.GridExecutor, "__call__", noted)
    there(torch.randn(300), Step(-4, (8,)), torch.zeros(1, dtype=torch.int32)).restored()
    assert launched == ["pack_kernel", "unpack_kernel"]


@given(st.data())
@settings(max_examples=12, deadline=None)
def test_a_stream_that_changed_is_a_fault_or_other_integers(data):
    dtype, format = data.draw(st.sampled_from([*NUMBERS])), data.draw(st.sampled_from(FORMATS))
    flat = torch.where(torch.arange(300) % 3 == 0, torch.arange(300) % 100, 0).to(dtype)
    found, fault = compress_numbers(flat, format, 0, True), torch.zeros(1, dtype=torch.int32)
    stream = found.packed.data
    place, value = data.draw(st.integers(0, stream.numel() - 1)), data.draw(st.integers(0, 255))
    stream[place] = value
    back = restored_numbers(found.packed, 0, dtype, fault)
    try:
        made = decompress(stream.numpy().tobytes(), flat.numel(), format)
    except ValueError:
        assert fault
    else:
        assert not fault
        assert back.tolist() == made.view(np.int8).tolist()
