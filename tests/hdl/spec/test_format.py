"""Every preset is a format, and two of them are what silicon writes. What formats, codecs and error-bounded stages
allow, and what they say about what they do not.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import subprocess
import sys

import numpy as np
import pytest

import cdma
from cdma import CodecConfig, Format, ParameterError
from cdma.app import main
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import PRESETS
from cdma.hdl.spec.stage import Quantisation, StageConfig


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


#: What each kind of parameters refuses: its settings, and the beginning of the message, with what was given and what is
#: allowed. One message of each kind stands whole.
_FORMATS = [
    ({"word_bits": 24}, "word_bits is 24; it must be one of 2, 4, 8, 16, 32: files have words of 8, 16 or 32, engines also"),
    ({"word_bits": "8"}, "word_bits is '8'; it must be one of"),
    ({"word_bits": True}, "word_bits is True; it must be one of"),
    ({"window": 48}, "window is 48; it must be one of 4, 8, 16, 32, 64: "),
    ({"window": 32.0}, "window is 32.0; it must be one of"),
    ({"code_bits": 5}, "code_bits is 5; it must be one of 1, 2, 3, 4: "),
    ({"align": 3}, "align is 3; it must be one of 1, 2, 4, 8: bytes that each window is padded to"),
    ({"word_bits": 16, "field_bits": 16}, "field_bits is 16; it must be one of 0, 8: the field is whole bytes of a word"),
    ({"rotate": 1}, "rotate is 1; only a format with a field has it"),
    ({"zero": True}, "zero is True; only a format with a field has it"),
    ({"field_bits": 8, "zero": 1}, "zero is 1; it must be true or false"),
    ({"field_bits": 8, "rotate": 32}, "rotate is 32; it must be a whole number from 0 to 31: bits that a word is rotated"),
    ({"field_bits": 8, "zero": True}, "values has 1 entries; 1 code bits allow 0 to 0, because code 0 means a word of"),
    ({"field_bits": 8, "values": (256,)}, "values has the entry 256; an entry is an unsigned field of 8 bits, 0 to 255"),
    ({"values": 0}, "values is 0; it must be a sequence of words"),
    ({"values": ()}, "values has 0 entries; 1 code bits allow 1 to 1, because the all-ones code means literal"),
    ({"values": (0, 1)}, "values has 2 entries; 1 code bits allow 1 to 1"),
    ({"code_bits": 2, "values": (0, 1, 2, 3)}, "values has 4 entries; 2 code bits allow 1 to 3"),
    ({"word_bits": 8, "values": (256,)}, "values has the entry 256; an entry is an unsigned word of 8 bits, 0 to 255"),
    ({"values": (-1,)}, "values has the entry -1; an entry is an unsigned word of 32 bits, 0 to 4294967295"),
    ({"values": (0.0,)}, "values has the entry 0.0"),
    ({"window": 16}, "a header of 16 codes of 1 bits has 16 bits, which is not a whole number of words of 32 bits"),
    ({"levels": 3}, "levels is 3; it must be one of 1, 2: windows, or windows and groups of them"),
    ({"levels": 2, "group": 4}, "group is 4; it must be one of 8, 16, 32, 64: the windows that share a mask"),
    ({"group": 8}, "group is 8; only a format of two levels has groups"),
    ({"levels": 2, "group": 16}, "group is 16; the mask of a group must be whole words of 32 bits"),
    ({"field_bits": 8, "levels": 2}, "levels is 2 in a format with a field; it needs zero, without which code 0"),
    ({"word_bits": 16, "window": 4, "field_bits": 8}, "a header of 4 codes of 1 bits has 4 bits, which is not a whole"),
]  # fmt: skip
_CODECS = [
    ({"lanes": 3}, "lanes is 3; it must be one of 1, 2, 4, 8, 16, 32, 64: a beat has a power of two of words, at most 64"),
    ({"lanes": 128}, "lanes is 128; it must be one of"),
    ({"lanes": 64}, "lanes is 64; it must not exceed the window of 32 words, because a beat never spans two windows"),
    ({"runtime_values": 1}, "runtime_values is 1; it must be true or false"),
    ({"pipelined": "yes"}, "pipelined is 'yes'; it must be true or false"),
    ({"pipelined": None}, "pipelined is None; it must be true or false"),
    ({"pipelined": True, "lanes": 16}, "lanes is 16 with a window of 32 words; a pipelined codec needs windows of at"),
    ({"format": Format(levels=2), "pipelined": True, "lanes": 4}, "levels is 2; codecs of two levels are plain, with codes"),
    ({"format": Format(8, align=8, levels=2)}, "levels is 2; codecs of two levels are plain, with codes of whole words"),
    ({"format": Format(levels=2), "queue": 1}, "queue is 1; codecs of two levels are built with 2 only"),
    ({"format": Format(levels=2, group=64)}, "group is 64; in hardware the mask of a group is as long as a header, 32 bits"),
    ({"format": Format(8, levels=2), "lanes": 4}, "lanes is 4, a beat of 4 words; with two levels a beat must be as"),
    ({"queue": 3}, "queue is 3; it must be one of 0, 1, 2: the finished beats that a compressor stores"),
    ({"queue": 0, "pipelined": True}, "queue is 0 with pipelined; it must be 2, because a pipelined codec keeps"),
    ({"format": Format(8, align=4), "lanes": 2}, "lanes is 2, a beat of 2 bytes, with windows padded to more"),
    ({"format": Format(8, align=4), "lanes": 4, "pipelined": True}, "lanes is 4, a beat of 4 bytes; in a pipelined codec a"),
    ({"format": Format(16, field_bits=8), "pipelined": True}, "zero is false in a format with a field; pipelined codecs"),
    ({"format": Format.preset("fp32"), "lanes": 32}, "lanes is 32 with a field in words of 32 bits; a beat has at most 64"),
    ({"format": Format(16, values=(), field_bits=8, zero=True), "runtime_values": True}, "runtime_values is true; with one"),
]  # fmt: skip
_STAGES = [
    (Quantisation, {"number": "fp64"}, "number is 'fp64'; it must be one of fp32, bf16, fp16"),
    (
        Quantisation,
        {"number": "fp16", "bits": 16},
        "bits is 16; it must be one of 4, 8: the bits of an integer",
    ),
    (Quantisation, {"keep_nonzero": 1}, "keep_nonzero is 1; it must be true or false"),
    (
        StageConfig,
        {"lanes": 3},
        "lanes is 3; it must be one of 1, 2, 4, 8, 16, 32, 64: a beat has a power of two of",
    ),
]
_REFUSED = [
    *((Format, *row) for row in _FORMATS),
    *((CodecConfig, *row) for row in _CODECS),
    *_STAGES,
    (
        EngineConfig,
        {"format": Format(levels=2), "units": 2},
        "units is 2; it must be 1, because levels is 2; a stream is split by headers",
    ),
]


@pytest.mark.parametrize(("kind", "settings", "message"), _REFUSED)
def test_a_parameter_that_cannot_be_is_refused(kind, settings, message):
    with pytest.raises(ParameterError, match=rf"^{re.escape(message)}"):
        kind(**settings)


def test_defaults_are_zero_value_compression():
    assert Format() == Format(word_bits=32, window=32, code_bits=1, values=(0,))
    assert CodecConfig() == CodecConfig(Format(), lanes=8, runtime_values=False, pipelined=False, queue=2)


def test_frozen_hashable_and_values_of_any_sequence():
    format = Format(code_bits=2, values=[0, 5])
    assert format.values == (0, 5)
    assert hash(format) == hash(Format(code_bits=2, values=(0, 5)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        format.window = 64


@pytest.mark.parametrize(
    ("format", "words", "bound", "in_bytes"),
    [
        (Format(), 0, 0, 0),
        (Format(), 1, 2, 8),
        (Format(), 32, 33, 132),
        (Format(), 33, 35, 140),
        (Format(8), 32, 36, 36),
        (Format(8, window=64, code_bits=4), 65, 65 + 2 * 32, 129),
        (Format(16, 32, 3, (1,), field_bits=8), 33, 2 * 12 + 66, 90),
        (Format(8, align=4), 35, 36 + 8, 44),
        (Format(16, align=8), 32, 36, 72),
        (Format(16, levels=2), 1025, 2 * 2 + 33 * 2 + 1025, 2190),
        (Format(8, 64, align=4, levels=2, group=8), 1, 4 + 12, 16),
    ],
)
def test_bound(format, words, bound, in_bytes):
    assert (format.bound(words), format.bound_bytes(words)) == (bound, in_bytes)


def test_settings_name_fields_and_padding_where_there_are_any():
    field = Format(16, 32, 3, (127,), field_bits=8, rotate=1, zero=True, align=4)
    assert field.settings() == {
        "word_bits": 16,
        "window": 32,
        "code_bits": 3,
        "values": [127],
        "field_bits": 8,
        "rotate": 1,
        "zero": True,
        "align": 4,
    }
    assert Format.from_settings(field.settings()) == field
    assert list(Format().settings()) == ["word_bits", "window", "code_bits", "values"]


@pytest.mark.parametrize("words", [-1, 1.5, True])
def test_refused_bounds(words):
    with pytest.raises(ParameterError, match=f"words is {words!r}; it must be a whole number of words, 0 or"):
        Format().bound(words)


def test_software_needs_no_amaranth():
    script = "import sys, cdma; cdma.compress([0, 1]); cdma.Format(); assert 'amaranth' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
