"""Every preset is a format, and two of them are what silicon writes."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import cdma
from cdma.app import main
from cdma.hdl.spec.presets import PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_presets_carry_any_words(name):
    format = cdma.Format.preset(name)
    words = np.random.default_rng(1).integers(0, 1 << format.word_bits, 99, f"u{format.word_bits // 8}")
    words[::3] = 0
    assert cdma.decompress(cdma.compress(words, format), 99, format).tolist() == words.tolist()


def test_a_preset_that_there_is_not():
    with pytest.raises(cdma.ParameterError) as caught:
        cdma.Format.preset("fp16")
    assert str(caught.value) == (
        "format is 'fp16'; it must be one of zvc32, zvc16, zvc8, bf16, fp32, aie-ml, aie2p"
    )


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("aie-ml", "f30dcae2d175d710e81d8410be5cc980bf06e364de359b6bc6f87194012ebc7d"),
        ("aie2p", "f947e931d2e3c530be240f4e622d1c3757b2e1d5e23a05be5d21768332420bc5"),
    ],
)
def test_byte_identical_to_the_output_of_silicon(name, published):
    """The probe of mlir-aie: 1024 words pass raw, the other 3072 are one compressed stream."""
    words = np.arange(4096, dtype="<u4")
    output = words[:1024].tobytes() + cdma.compress(words[1024:], cdma.Format.preset(name))
    assert len(output) == 2944 * 4
    assert hashlib.sha256(output).hexdigest() == published


def test_the_list_of_formats(shown, printed):
    rows = printed("formats")
    assert [row["name"] for row in rows] == list(PRESETS)
    for row in rows:
        summary = row.pop("for")
        assert cdma.Format.preset(row.pop("name")) == cdma.Format.from_settings(row)
        assert summary
    said = shown("formats")
    assert all(name in said for name in PRESETS)


def test_a_preset_on_the_command_line(tmp_path, printed):
    original, packed, restored = tmp_path / "in.npy", tmp_path / "x.cdma", tmp_path / "out.npy"
    np.save(original, np.random.default_rng(2).normal(0, 0.1, 999).astype(np.float32))
    assert printed("compress", str(original), str(packed), "--format", "fp32")["file_bytes"] < 3900
    assert main(["decompress", str(packed), str(restored)]) == 0
    assert restored.read_bytes() == original.read_bytes()
