"""The registry of codecs, tables learnt from histograms, number types, layouts and bounds."""

import math
import sys
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma import CorruptStream, Format, ParameterError
from cdma.sim.compare import codecs, comparison
from cdma.sim.compare.entropy import byte_bound, entropy_bits, table_bound
from cdma.sim.compare.tables import frequent_values, learn_format
from cdma.sim.support.tensors import arrange, bfloat16_bits, convert, quantise


def activations(shape=(4, 8, 6, 6), density=0.4, seed=1):
    random = np.random.default_rng(seed)
    return (random.exponential(1, shape) * (random.random(shape) < density)).astype(np.float32)


@pytest.fixture(params=list(codecs.CODECS))
def name(request):
    if request.param == "lz4":
        pytest.importorskip("lz4")
    return request.param


class TestRegistry:
    @given(
        name=st.sampled_from(codecs.available()),
        word_bits=st.sampled_from([8, 16, 32]),
        words=st.lists(st.sampled_from([0, 0, 1, 2, 128, 255]), max_size=300),
    )
    def test_round_trip_and_size(self, name, word_bits, words):
        packet = np.array(words, f"u{word_bits // 8}")
        codec = codecs.make(name, word_bits, packet)
        data = codec.compress(packet)
        assert codec.decompress(data, len(packet)).tolist() == words
        assert codec.size(packet) == len(data) + codec.side_bytes
        assert codec.name == name

    def test_too_few_and_too_many_words(self, name):
        packet = np.array([0, 1, 2, 0] * 50, np.uint16)
        codec = codecs.make(name, 16, packet)
        data = codec.compress(packet)
        for words in (100, 300):
            with pytest.raises(CorruptStream):
                codec.decompress(data, words)

    def test_garbage(self, name):
        packet = np.array([0, 1, 2, 0] * 50, np.uint16)
        codec = codecs.make(name, 16, packet)
        for data in (b"", codec.compress(packet)[:-2], b"\xff" * 40):
            with pytest.raises(CorruptStream):
                codec.decompress(data, len(packet))

    def test_zlib_does_not_fill_the_memory(self):
        bomb = zlib.compress(bytes(50_000_000))
        codec = codecs.make("zl", 8, np.zeros(1, np.uint8))
        tracemalloc.start()
        try:
            with pytest.raises(CorruptStream, match="zl"):
                codec.decompress(bomb, 10)
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()

    def test_zlib_refuses_what_follows(self):
        codec = codecs.make("zl", 8, np.zeros(1, np.uint8))
        with pytest.raises(CorruptStream, match="bytes follow the zlib stream"):
            codec.decompress(codec.compress(np.zeros(9, np.uint8)) + b"x", 9)

    def test_unknown(self):
        with pytest.raises(ParameterError, match="codec is 'gzip'; it must be one of zv, rl, zl, fvc1"):
            codecs.make("gzip", 8, np.zeros(1, np.uint8))

    def test_word_size(self):
        with pytest.raises(ParameterError, match="word_bits is 4; codecs of bytes have words of 8, 16 or 32"):
            codecs.make("zv", 4, np.zeros(1, np.uint8))

    def test_without_lz4(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "lz4", None)
        monkeypatch.setitem(sys.modules, "lz4.block", None)
        assert codecs.available() == ("zv", "rl", "zl", "fvc1", "fvc2", "fvc4", "csr")
        with pytest.raises(codecs.MissingCodec, match=r"pip install 'cdma\[bench\]'"):
            codecs.make("lz4", 8, np.zeros(1, np.uint8))


class TestTables:
    def test_most_frequent_first_and_the_least_of_equals(self):
        words = np.array([9, 9, 9, 3, 3, 1, 1, 7], np.uint32)
        assert frequent_values(words, 3) == (9, 1, 3)

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
    def test_of_nothing_and_of_few(self, dtype):
        assert frequent_values(np.zeros(0, dtype), 3) == (0,)
        assert frequent_values(np.full(5, 200, dtype), 3) == (200,)

    def test_of_a_large_tensor(self):
        words = np.random.default_rng(2).choice(
            np.array([5, 70_000, 0], np.uint32), 2_000_000, p=[0.2, 0.3, 0.5]
        )
        assert frequent_values(words, 2) == (0, 70_000)

    def test_zero_point(self):
        tensor = activations()
        quantised, zero_point = quantise(tensor, affine=True)
        words = quantised.reshape(-1).view(np.uint8)
        assert learn_format(words, 8, 1).values == (zero_point & 0xFF,) == (128,)


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


class TestBounds:
    def test_entropy(self):
        assert entropy_bits(np.array([1, 1, 1, 1])) == 2
        assert entropy_bits(np.array([7, 0])) == 0
        assert entropy_bits(np.array([], int)) == 0

    def test_table_bound(self):
        words = np.array([0, 7] * 500, np.uint32)
        assert table_bound(words, Format()) == pytest.approx(32 / 17)
        assert table_bound(words | 1, Format()) == 1
        assert table_bound(words & 0, Format()) == math.inf

    def test_zero_value_compression_stays_below_its_bound(self):
        for density in (0.01, 0.3, 0.5, 0.97):
            words = activations(density=density).reshape(-1).view(np.uint32)
            codec = codecs.make("zv", 32, words)
            assert words.nbytes / codec.size(words) <= table_bound(words, Format())

    @pytest.mark.parametrize("code_bits", [1, 2, 4])
    def test_frequent_values_stay_below_their_bound(self, code_bits):
        words = quantise(activations(), affine=True)[0].reshape(-1).view(np.uint8)
        codec = codecs.make(f"fvc{code_bits}", 8, words)
        assert words.nbytes / codec.size(words) <= table_bound(words, learn_format(words, 8, code_bits))

    def test_byte_bound(self):
        words = np.array([0x0100, 0x0200], np.uint16)
        assert byte_bound(words) == 16  # nothing for the low byte, one bit for the high one
        assert byte_bound(np.zeros(8, np.uint8)) == math.inf
        assert (
            byte_bound(np.zeros(0, np.uint8)) == table_bound(np.zeros(0, np.uint8), Format(word_bits=8)) == 1
        )


class TestComparison:
    @pytest.fixture
    def rows(self):
        tensor = activations((2, 16, 8, 8))
        return list(
            comparison.compare(tensor, network="n", layer="l", kind="relu", names=("zv", "rl", "fvc1"))
        )

    def test_every_type_and_layout(self, rows):
        assert len({(row.number_type, row.layout) for row in rows}) == len(rows) == 15

    def test_zero_value_compression_does_not_see_the_layout(self, rows):
        for number_type in ("float32", "int8"):
            assert len({row.ratio["zv"] for row in rows if row.number_type == number_type}) == 1

    def test_a_zero_point_defeats_it_and_a_learnt_table_does_not(self, rows):
        affine = next(row for row in rows if row.number_type == "int8-affine")
        symmetric = next(row for row in rows if row.number_type == "int8")
        assert affine.ratio["zv"] < 0.9 < 1.5 < affine.ratio["fvc1"]
        assert affine.ratio["fvc1"] == pytest.approx(symmetric.ratio["zv"], rel=0.05)

    def test_clustered_zeros_help_run_lengths_only(self):
        tensor = np.ones((1, 2, 8, 8), np.float32)
        tensor[:, 0] = 0
        rows = {
            row.layout: row
            for row in comparison.compare(
                tensor, network="n", layer="l", kind="relu", number_types=["float32"], names=("zv", "rl")
            )
        }
        assert rows["NCHW"].ratio["rl"] == 128 / 66
        assert rows["NHWC"].ratio["rl"] == 128 / 192
        assert rows["NCHW"].ratio["zv"] == rows["NHWC"].ratio["zv"] == 128 / 68

    def test_summary(self):
        def row(network, words, ratio):
            return comparison.Row(
                network, "l", "relu", "float32", "NCHW", words, 0.5, {"zv": ratio}, {"mask": 2}
            )

        (summary,) = comparison.summarise([row("a", 100, 2), row("a", 300, 1), row("b", 10, 4)])
        assert summary.average == {"zv": pytest.approx((400 / 350 + 4) / 2)}
        assert summary.maximum == {"zv": 4}
        assert (summary.tensors, summary.bound) == (3, {"mask": 2})

    def test_empty_tensor(self):
        with pytest.raises(ParameterError, match=r"n l has the shape \(0, 3\); an empty tensor has no ratio"):
            list(comparison.compare(np.zeros((0, 3), np.float32), network="n", layer="l", kind="fc"))
