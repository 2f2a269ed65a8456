"""Ratios of the presets on recorded tensors, and what the documents claim of them."""

import numpy as np
import pytest

from cdma import Format
from cdma.hdl.spec.format import EXPONENTS
from cdma.sim.codec.model import analyse, compress
from cdma.study.compare.format_bench import BadSamples, load_data, rows

pytest.importorskip("lz4")
pytest.importorskip("zstandard")

DATA = load_data()
#: What software moves in training and inference, without gradients.
_FORWARD = ("weights.", "activations.", "attention.keys", "attention.values")


@pytest.fixture(scope="module")
def ratios():
    return {(data.name, data.number_type): {row.codec: row.ratio for row in rows(data)} for data in DATA}


def test_ratios_are_those_of_streams(ratios):
    for data in (DATA[0], DATA[-1]):
        for name in ("zvc16", "bf16", "zvc8", "aie2p"):
            if name in ratios[data.name, data.number_type]:
                stream = compress(data.numbers, Format.preset(name))
                assert ratios[data.name, data.number_type][name] == data.numbers.nbytes / len(stream)


def test_every_preset_and_other_codec_has_its_row(ratios):
    bf16 = list(ratios["weights.layer", "bfloat16"])
    assert bf16[:4] == ["zvc16", "zvc8", "bf16", "bf16 fitted"]
    assert bf16[-4:] == ["LZ4", "zstd 1", "Huffman", "entropy"]
    assert {"zvc32", "fp32", "fp32 best"} <= set(ratios["relu, all", "float32"])
    assert "entropy" not in ratios["relu, all", "int8"]


def test_no_code_of_the_exponent_beats_its_entropy(ratios):
    for found in ratios.values():
        if "entropy" in found:
            assert found["Huffman"] <= found["entropy"] + 1e-9


def test_dense_data_come_close_to_a_huffman_code(ratios):
    for (name, _), found in ratios.items():
        if name.startswith(_FORWARD):
            assert found["bf16 fitted"] >= 0.925 * found["Huffman"], name
            assert found["bf16 best"] >= 0.93 * found["Huffman"], name
        elif name.startswith(("gradients.", "optimiser.")):
            # Gradients are spread over more exponents than six.
            assert found["bf16 best"] >= 0.93 * found["Huffman"], name


def test_sparse_data_come_close_to_zero_value_compression(ratios):
    found = ratios["relu, all", "bfloat16"]
    assert next(data.density for data in DATA if data.name == "relu, all") == pytest.approx(0.25, abs=0.02)
    assert found["bf16 fitted"] >= 0.95 * found["zvc16"]


def test_the_default_exponents_serve_most(ratios):
    """Of all tables of six neighbouring exponents they have the best ratio on the tensor that suffers most."""
    tensors = [data for data in DATA if data.name.startswith(_FORWARD)]
    least = {}
    for first in range(110, 130):
        format = Format.preset("bf16").with_table(range(first, first + 6))
        least[first] = min(
            data.numbers.nbytes / analyse(data.numbers, format).compressed_bytes for data in tensors
        )
    best = max(least, key=lambda first: least[first])
    assert sorted(EXPONENTS) == list(range(best, best + 6))
    assert least[best] > 1


def test_files_that_hold_no_samples(tmp_path):
    (tmp_path / "text.npz").write_bytes(b"text")
    with pytest.raises(BadSamples, match=r"text\.npz is not a \.npz file of numbers"):
        load_data(tmp_path / "text.npz")
    np.savez(tmp_path / "floats.npz", a=np.zeros(3, np.float32))
    with pytest.raises(BadSamples, match=r"floats\.npz does not hold bfloat16 numbers as uint16"):
        load_data(tmp_path / "floats.npz")
