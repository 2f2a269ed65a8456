"""Bounds of the compression ratio."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma import Format
from cdma.gpu.peers import codecs
from cdma.gpu.peers.codecs import learn_format
from cdma.sim.codec.number_types import quantise
from cdma.study.compare.entropy import byte_bound, entropy_bits, field_counts, huffman_bits, table_bound
from tests.support.stimuli import rectified


class TestBounds:
    def test_entropy_and_huffman_by_hand(self):
        for counts, entropy, huffman in (([1, 1, 1, 1], 2, 2), ([4, 2, 1, 1], 1.75, 1.75), ([7, 0], 0, 1)):
            assert entropy_bits(np.array(counts)) == pytest.approx(entropy)
            assert huffman_bits(np.array(counts)) == pytest.approx(huffman)
        assert entropy_bits(np.array([], int)) == huffman_bits(np.array([], int)) == 0

    @given(st.lists(st.integers(0, 1000), min_size=1, max_size=40))
    def test_huffman_is_within_a_bit_of_the_entropy(self, counts):
        entropy = entropy_bits(np.array(counts))
        assert entropy - 1e-9 <= huffman_bits(np.array(counts)) < entropy + 1 + 1e-9

    def test_counts_of_exponents(self):
        numbers = np.array([1, -1, 2, 0.75, 0], np.float32).view(np.uint32)
        counts = field_counts(numbers, Format.preset("fp32"))
        assert {field: counts[field] for field in np.flatnonzero(counts)} == {0: 1, 126: 1, 127: 2, 128: 1}

    def test_table_bound(self):
        words = np.array([0, 7] * 500, np.uint32)
        assert table_bound(words, Format()) == pytest.approx(32 / 17)
        assert table_bound(words | 1, Format()) == 1
        assert table_bound(words & 0, Format()) == math.inf

    @pytest.mark.parametrize("code_bits", [1, 2, 4])
    def test_codecs_stay_below_their_bound(self, code_bits):
        for density in (0.01, 0.3, 0.97):
            words = rectified(density=density).reshape(-1).view(np.uint32)
            assert words.nbytes / codecs.make("zv", 32, words).size(words) <= table_bound(words, Format())
        words = quantise(rectified(), affine=True)[0].reshape(-1).view(np.uint8)
        codec = codecs.make(f"fvc{code_bits}", 8, words)
        assert words.nbytes / codec.size(words) <= table_bound(words, learn_format(words, 8, code_bits))

    def test_byte_bound(self):
        words = np.array([0x0100, 0x0200], np.uint16)
        assert byte_bound(words) == 16  # nothing for the low byte, one bit for the high one
        assert byte_bound(np.zeros(8, np.uint8)) == math.inf
        assert (
            byte_bound(np.zeros(0, np.uint8)) == table_bound(np.zeros(0, np.uint8), Format(word_bits=8)) == 1
        )
