"""One tensor: its density, its formats, and the best of them."""

import numpy as np
import pytest

from cdma import ParameterError, compress
from cdma.sim.codec.number_types import quantise
from cdma.sim.codec.tensor_profile import NothingToProfile, profile
from tests.support.tensors import noise, tensor


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
