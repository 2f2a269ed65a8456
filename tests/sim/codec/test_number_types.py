"""Number types and layouts."""

import math

import numpy as np
import pytest

from cdma import ParameterError
from cdma.sim.codec.number_types import arrange, bfloat16_bits, convert, quantise


def activations(shape=(4, 8, 6, 6), density=0.4, seed=1):
    random = np.random.default_rng(seed)
    return (random.exponential(1, shape) * (random.random(shape) < density)).astype(np.float32)


class TestTensors:
    def test_affine_keeps_zero_exact(self):
        tensor = np.array([-1.0, 0.0, 3.0], np.float32)
        quantised, zero_point = quantise(tensor, affine=True)
        assert quantised.tolist() == [-128, zero_point, 127]
        assert zero_point == -64

    def test_symmetric(self):
        quantised, zero_point = quantise(np.array([-2.0, 0.0, 1.0], np.float32), affine=False)
        assert (quantised.tolist(), zero_point) == ([-127, 0, 64], 0)

    @pytest.mark.parametrize("affine", [True, False])
    @pytest.mark.parametrize("tensor", [np.zeros(4, np.float32), np.zeros(0, np.float32)])
    def test_all_zero(self, tensor, affine):
        quantised, zero_point = quantise(tensor, affine=affine)
        assert quantised.tolist() == [zero_point] * len(tensor)

    def test_not_finite(self):
        with pytest.raises(ParameterError, match="not finite, which have no 8-bit scale"):
            quantise(np.array([np.inf], np.float32), affine=False)

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

    def test_refusals(self):
        with pytest.raises(ParameterError, match=r"shape \(3,\); layouts are for"):
            arrange(np.zeros(3), "NCHW")
        with pytest.raises(ParameterError, match="layout is 'HWCN'; it must be one of NCHW, NHWC, CHWN"):
            arrange(np.zeros((1, 1)), "HWCN")
        with pytest.raises(ParameterError, match="number type is 'fp8'; it must be one of float32"):
            convert(np.zeros(1, np.float32), "fp8")
