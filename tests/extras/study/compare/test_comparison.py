"""Codecs side by side. Codecs of the papers that are rebuilt for their ratios: they keep the error that they say, and
count every bit. Bounds of the compression ratio. Ratios of the presets on recorded tensors, and what the documents
claim of them. What the bench of the codec in software measures each codec for.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cdma import Format, ParameterError
from cdma.gpu.peers import codecs
from cdma.gpu.peers.codecs import learn_format
from cdma.sim.codec.model import compress
from cdma.sim.codec.number_types import quantise
from cdma.sim.codec.software_bench import Codec, measure
from cdma.study.compare import comparison, entropy
from cdma.study.compare.comparison import BadSamples, load_data, rows
from cdma.study.compare.entropy import (
    bounded,
    byte_bound,
    entropy_bits,
    field_counts,
    huffman_bits,
    predictive_bytes,
    predictive_differences,
    predictive_integers,
    table_bound,
    transformed_within,
)
from tests.support.stimuli import rectified


class TestComparison:
    @pytest.fixture
    def rows(self):
        tensor = rectified((2, 16, 8, 8))
        return list(
            comparison.compare(tensor, network="n", layer="l", kind="relu", names=("zv", "rl", "fvc1"))
        )

    def test_every_type_and_layout_has_its_row_and_zeros_do_not_see_the_layout(self, rows):
        assert len({(row.number_type, row.layout) for row in rows}) == len(rows) == 15
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


SHAPES = st.sampled_from([(2, 3, 8, 8), (1, 2, 5, 11), (1, 1, 16, 16), (1, 1, 1, 9)])


def _tensor(shape: tuple[int, ...], seed: int) -> np.ndarray:
    numbers = np.random.default_rng(seed).normal(size=shape)
    return np.maximum(numbers, 0).astype(np.float32)


@given(SHAPES, st.integers(0, 99), st.floats(1e-3, 1))
def test_prediction_keeps_the_bound_and_zeros(shape: tuple[int, ...], seed: int, bound: float) -> None:
    tensor = _tensor(shape, seed)
    differences = predictive_differences(predictive_integers(tensor, bound))
    restored = differences.cumsum(axis=-2).cumsum(axis=-1) * (2 * bound)
    assert np.abs(restored - tensor).max() <= bound * (1 + 1e-9)
    assert not restored[tensor == 0].any()


def test_prediction_by_hand() -> None:
    """A plane that rises evenly is predicted but for its edges; three symbols have codes of 1, 2 and 2 bits."""
    plane = np.add.outer(np.arange(4), np.arange(4))
    assert predictive_differences(plane).tolist() == [[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
    assert predictive_differences(np.array([3, 3, 5])).tolist() == [3, 0, 2]
    assert predictive_bytes(np.array([0, 0, 1, 2])) == (2 * 1 + 2 * 2) / 8 + 3 * 3


@given(SHAPES, st.integers(0, 99), st.floats(0.01, 0.3))
def test_a_transform_has_the_error_that_is_allowed(shape: tuple[int, ...], seed: int, error: float) -> None:
    found = transformed_within(_tensor(shape, seed), error)
    assert found.error <= error
    assert found.size > 0


def test_runs_of_zeros_by_hand() -> None:
    """One block: a 5 of three bits behind 17 zeros, which take a symbol for sixteen, one for the rest, and the end."""
    block = np.zeros((1, 64), np.int64)
    block[0, 17] = 5
    # Three symbols once each have codes of 5 bits together.
    assert entropy._coded(block) == (5 + 3) / 8 + 2 * 3
    block[0, 63] = -1
    # No end, but 45 zeros are two symbols of sixteen more: the symbols have 1, 2 and 2 bits, and -1 has one.
    assert entropy._coded(block) == (3 * 1 + 2 * 2 + 3 + 1) / 8 + 2 * 3


def test_a_wider_bound_takes_less_and_errs_more() -> None:
    tensor = np.maximum(_tensor((2, 3, 16, 16), 1), 0)
    coarse, fine = bounded(tensor, -3), bounded(tensor, -7)
    for codec in ("cdma", "sz", "jpeg"):
        assert getattr(coarse, codec) > getattr(fine, codec) > 1
    # A uniform error of at most 2**-7 of a peak.
    assert 0 < fine.error < coarse.error / 4 < 0.25


class TestBounds:
    def test_entropy_and_huffman_by_hand(self):
        for counts, least, huffman in (([1, 1, 1, 1], 2, 2), ([4, 2, 1, 1], 1.75, 1.75), ([7, 0], 0, 1)):
            assert entropy_bits(np.array(counts)) == pytest.approx(least)
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


DATA = load_data()


@pytest.fixture(scope="module")
def ratios():
    return {(data.name, data.number_type): {row.codec: row.ratio for row in rows(data)} for data in DATA}


def test_ratios_are_those_of_streams(ratios):
    for data in (DATA[0], DATA[-1]):
        for name in ("zvc16", "bf16", "zvc8", "aie2p"):
            if name in ratios[data.name, data.number_type]:
                stream = compress(data.numbers, Format.preset(name))
                assert ratios[data.name, data.number_type][name] == data.numbers.nbytes / len(stream)


def test_no_code_of_the_exponent_beats_its_entropy(ratios):
    for found in ratios.values():
        if "entropy" in found:
            assert found["Huffman"] <= found["entropy"] + 1e-9


def test_files_that_hold_no_samples(tmp_path):
    (tmp_path / "text.npz").write_bytes(b"text")
    with pytest.raises(BadSamples, match=r"text\.npz is not a \.npz file of numbers"):
        load_data(tmp_path / "text.npz")
    np.savez(tmp_path / "floats.npz", a=np.zeros(3, np.float32))
    with pytest.raises(BadSamples, match=r"floats\.npz does not hold bfloat16 numbers as uint16"):
        load_data(tmp_path / "floats.npz")


def test_a_codec_is_not_charged_with_the_memory_of_the_one_before_it() -> None:
    """Giving back what a codec returned takes about as long as copying it, so it is gone before the next one begins."""
    returned: list[weakref.ref[NDArray[Any]]] = []

    def copied(source: NDArray[Any]) -> NDArray[Any]:
        assert all(reference() is None for reference in returned), "still in memory"
        return source.copy()

    def kept(source: NDArray[Any]) -> NDArray[Any]:
        restored = source.copy()
        returned.append(weakref.ref(restored))
        return restored

    tensor = np.arange(100, dtype=np.float32)
    rounds = list(measure(tensor, [Codec(name, copied, kept) for name in ("one", "another")], 2))
    assert [row.codec for row in rounds[-1]] == ["one", "another"]
    assert len(returned) == 4
