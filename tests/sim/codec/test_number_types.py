"""Number types and layouts."""

import math

import numpy as np
import pytest

from cdma import ParameterError
from cdma.sim.codec.number_types import arrange, bfloat16_bits, convert, quantise


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
