"""Tables that are learnt from data."""

from __future__ import annotations

import numpy as np
import pytest

import cdma
from cdma.app import main
from cdma.sim.codec import fit as fitting
from cdma.sim.codec.fit import frequent_values
from cdma.sim.codec.number_types import bfloat16_bits

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
