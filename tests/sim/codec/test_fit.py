"""Tables that are learnt from data. One tensor: its density, its formats, and the best of them. Number types and
layouts.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import cdma
from cdma import ParameterError, compress
from cdma.app import main
from cdma.sim.codec import fit as fitting
from cdma.sim.codec.fit import NothingToProfile, frequent_values, profile
from cdma.sim.codec.number_types import arrange, bfloat16_bits, convert, quantise
from tests.support.stimuli import noise, tensor

BF16 = cdma.Format.preset("bf16")


def weights(scale, size=50_000):
    return np.random.default_rng(3).normal(0, scale, size).astype(np.float32)


@pytest.mark.parametrize("scale", [1e-4, 0.03, 1, 100])
@pytest.mark.parametrize("name", ["bf16", "fp32"])
def test_six_exponents_make_dense_data_smaller_at_any_scale(scale, name):
    data = weights(scale)
    words = bfloat16_bits(data) if name == "bf16" else data
    fitted = cdma.fit(words, cdma.Format.preset(name))
    assert cdma.analyse(words, fitted).ratio > (1.35 if name == "bf16" else 1.14)
    assert len(fitted.values) == 6
    assert fitted == cdma.Format.preset(name).with_table(fitted.values)


def test_no_other_exponents_are_better():
    words = bfloat16_bits(weights(0.03))
    exponents, counts = np.unique(words >> 7 & 255, return_counts=True)
    best = set(exponents[np.argsort(counts)[-6:]].tolist())
    assert set(cdma.fit(words, BF16).values) == best


def test_zeros_take_no_entry_where_they_have_a_code():
    words = bfloat16_bits(weights(0.03))
    words[::2] = 0
    assert 0 not in cdma.fit(words, BF16).values
    assert cdma.fit(words, cdma.Format(16, 32, 3, (1,), field_bits=8, rotate=1)).values[0] == 0


def test_whole_words():
    words = np.array([7, 7, 7, 0, 0, 5], np.uint16)
    assert cdma.fit(words, cdma.Format(16)).values == (7,)
    assert cdma.fit(words, cdma.Format(16, code_bits=2)).values == (7, 0, 5)


def test_nothing_to_learn_from_changes_nothing():
    assert cdma.fit(np.zeros(0, np.uint16), BF16) == BF16
    assert cdma.fit(np.zeros(99, np.uint16), BF16) == BF16
    one = cdma.Format(16, 32, 1, (), field_bits=8, zero=True)
    assert cdma.fit(np.ones(99, np.uint16), one) == one


def test_a_sample_or_the_whole(monkeypatch):
    monkeypatch.setattr(fitting, "_SAMPLE", 64)
    monkeypatch.setattr(fitting, "_RUN", 8)
    words = np.tile(np.array([1, 2], np.uint16).repeat(16), 100)
    words[10:30], words[-20] = 3, 4
    assert len(fitting.sampled(words)) == 64
    assert set(fitting.sampled(words)) == {1, 2}
    assert set(cdma.fit(words, cdma.Format(16, code_bits=2)).values) >= {1, 2}
    assert set(cdma.fit(words, cdma.Format(16, code_bits=3), whole=True).values) == {1, 2, 3, 4}


def test_on_the_command_line(tmp_path, printed, refused):
    original, packed = tmp_path / "in.npy", tmp_path / "x.cdma"
    np.save(original, weights(100))
    sizes = {}
    for fit in ([], ["--fit"]):
        sizes[len(fit)] = printed("compress", str(original), str(packed), "--format", "fp32", *fit)
    assert sizes[1]["file_bytes"] < 0.9 * 200_000 < sizes[0]["file_bytes"]
    assert sizes[1]["values"] == list(cdma.fit(weights(100), cdma.Format.preset("fp32")).values)
    assert "take one of the two" in refused("compress", str(original), str(packed), "--fit", "--values", "1")
    np.save(original, np.zeros(0, np.float32))
    assert main(["compress", str(original), str(packed), "--fit"]) == 0


def test_frequent_values_are_the_most_frequent_and_of_equals_the_least():
    words = np.array([9, 9, 9, 3, 3, 1, 1, 7], np.uint32)
    assert frequent_values(words, 3) == (9, 1, 3)
    many = np.random.default_rng(2).choice(np.array([5, 70_000, 0], np.uint32), 2_000_000, p=[0.2, 0.3, 0.5])
    assert frequent_values(many, 2) == (0, 70_000)
    for dtype in (np.uint8, np.uint16, np.uint32):
        assert frequent_values(np.zeros(0, dtype), 3) == (0,)
        assert frequent_values(np.full(5, 200, dtype), 3) == (200,)


class TestTensor:
    @pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u2", "i4", "i8", "c8", "?"])
    def test_sizes_are_those_of_the_codec(self, dtype):
        array = (tensor(0.3, 1000) * 20).astype(dtype)
        result = profile("t", array)
        assert result.raw == array.nbytes
        assert result.density == np.count_nonzero(array) / array.size
        for fit in result.fits:
            format = fit.format
            entry_bytes = (format.field_bits or format.word_bits) // 8
            table = 0 if format.values == (0,) else len(format.values) * entry_bytes
            assert fit.compressed == len(compress(array, format)) + table

    def test_dense_and_sparse_choose_zero_value_compression(self):
        for density in (0.05, 0.5):
            result = profile("t", noise(density))
            assert str(result.best) == str(result.zvc) == "zvc32"

    def test_exponents_choose_a_field(self):
        assert str(profile("t", tensor(0.9)).best) == "fp32"
        bits = (tensor(1.0).view(np.uint32) >> 16).astype(np.uint16)
        result = profile("t", bits, "bfloat16")
        assert str(result.best) == "bf16, no zero"
        assert str(profile("t", np.where(bits < 0x8000, bits, 0), "bfloat16").best) == "bf16"
        assert set(result.best.format.values) > {125, 126, 127}
        # Numbers of magnitudes over a wide range need more exponents.
        wide = np.ldexp(np.float32(1), np.random.default_rng(1).integers(-13, 1, 4096)).astype(np.float32)
        noisy = wide.view(np.uint32) | np.random.default_rng(2).integers(0, 1 << 23, 4096, np.uint32)
        assert str(profile("t", (noisy >> 16).astype(np.uint16), "bfloat16").best) == "bf16, c=4"

    def test_zero_point_chooses_a_table(self):
        quantised, zero_point = quantise(tensor(0.3), affine=True)
        result = profile("q", quantised)
        assert str(result.best) == "fvc8, c=1"
        assert result.best.format.values == (zero_point & 0xFF,)
        assert result.density > 0.99

    def test_few_values_choose_wide_codes(self):
        array = np.random.default_rng(1).integers(0, 15, 20_000).astype(np.uint32) + 1000
        result = profile("t", array)
        assert (result.best.format.word_bits, result.best.format.code_bits) == (32, 4)
        assert set(result.best.format.values) == set(range(1000, 1015))
        # Small numbers in large words choose smaller words.
        small = np.random.default_rng(1).integers(1, 255, 20_000).astype(np.uint32)
        assert profile("t", small).best.format.word_bits == 8

    def test_a_table_is_not_free(self):
        # Fifteen different words, each once: a table would hold the whole tensor.
        words = np.random.default_rng(1).integers(2**28, 2**32, 15).astype(np.uint32)
        assert profile("t", words).best.compressed >= words.nbytes

    def test_shape_and_order_do_not_matter(self):
        array = tensor(0.3, 4096).reshape(8, 16, 32)
        plain = profile("t", array)
        for other in (np.asfortranarray(array), array.transpose(2, 0, 1), array[::-1]):
            assert profile("t", other).fits == plain.fits

    def test_more_than_a_chunk(self):
        array = tensor(0.3, 600_000)
        reported = []
        assert profile("t", array, progress=reported.append).zvc.compressed == len(compress(array))
        assert len(reported) > 3
        assert sum(reported) == pytest.approx(array.nbytes, abs=len(reported))

    def test_minus_zero(self):
        result = profile("t", np.array([-0.0, 0.0, 1.0] * 100, np.float16))
        assert (result.minus_zeros, result.density) == (100, 2 / 3)
        assert profile("t", np.full(64, 0x8000, np.uint16), "bfloat16").minus_zeros == 64
        assert profile("t", np.full(64, 0x8000, np.uint16)).minus_zeros == 0

    def test_refusals(self):
        with pytest.raises(NothingToProfile, match=r"tensor 't' has the shape \(0, 3\), and so no elements"):
            profile("t", np.zeros((0, 3)))
        with pytest.raises(ParameterError, match="tensor 't' holds object, not integers, floating-point"):
            profile("t", np.array([None]))


class TestTensors:
    @pytest.mark.parametrize(
        ("values", "affine", "expected", "zero_point"),
        [
            ([-1.0, 0.0, 3.0], True, [-128, -64, 127], -64),
            ([-2.0, 0.0, 1.0], False, [-127, 0, 64], 0),
            ([0.0] * 4, False, [0] * 4, 0),
            ([], False, [], 0),
        ],
    )
    def test_zero_stays_exact(self, values, affine, expected, zero_point):
        quantised, zero = quantise(np.array(values, np.float32), affine=affine)
        assert (quantised.tolist(), zero) == (expected, zero_point)
        empty, zero = quantise(np.zeros(len(values), np.float32), affine=True)
        assert empty.tolist() == [zero] * len(values)

    @pytest.mark.parametrize(
        ("value", "bits"),
        [
            (1.0, 0x3F80),
            (-0.0, 0x8000),
            (1 + 2**-8, 0x3F80),  # halfway, the even one is below
            (1 + 3 * 2**-8, 0x3F82),  # halfway, the even one is above
            (1 + 2**-8 + 2**-20, 0x3F81),
            (3.4e38, 0x7F80),
            (math.inf, 0x7F80),
        ],
    )
    def test_bfloat16(self, value, bits):
        assert bfloat16_bits(np.array([value], np.float32)).tolist() == [bits]

    def test_bfloat16_of_nan_is_nan(self):
        for nan in (0x7F800001, 0x7FFFFFFF, 0xFFC00000):
            bits = int(bfloat16_bits(np.array([nan], np.uint32).view(np.float32))[0])
            assert bits & 0x7F80 == 0x7F80
            assert bits & 0x7F

    def test_layouts(self):
        tensor = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
        arranged = {layout: arrange(tensor, layout) for layout in ("NCHW", "NHWC", "CHWN")}
        assert all(array.flags.c_contiguous for array in arranged.values())
        for n, c, h, w in np.ndindex(tensor.shape):
            value = tensor[n, c, h, w]
            assert arranged["NCHW"][n, c, h, w] == value
            assert arranged["NHWC"][n, h, w, c] == value
            assert arranged["CHWN"][c, h, w, n] == value
        flat = tensor.reshape(2, 60)
        assert arrange(flat, "CHWN").reshape(-1)[1] == flat[1, 0]
        assert arrange(flat, "NHWC").reshape(-1)[1] == flat[0, 1]

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (
                lambda: quantise(np.array([np.inf], np.float32), affine=False),
                "not finite, which have no 8-bit",
            ),
            (lambda: arrange(np.zeros(3), "NCHW"), r"shape \(3,\); layouts are for"),
            (lambda: arrange(np.zeros((1, 1)), "HWCN"), "layout is 'HWCN'; it must be one of NCHW, NHWC"),
            (lambda: convert(np.zeros(1, np.float32), "fp8"), "number type is 'fp8'; it must be one of"),
        ],
    )
    def test_refusals(self, call, message):
        with pytest.raises(ParameterError, match=message):
            call()
