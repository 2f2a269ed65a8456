"""Files of several tensors: safetensors files that come back byte for byte, and what is refused."""

import json
import os
import re
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest

import cdma
from cdma.app import main
from cdma.sim.codec import container
from tests.support.tensors import noise, safetensors, tensor

_HALVES = (tensor(1.0, 600).view(np.uint32) >> 16).astype("<u2")


def model():
    """A file with tensors of several types, one of them empty, whose header is not in the order of the data."""
    data = _HALVES.tobytes() + noise(0.3, 200).tobytes() + np.arange(7, dtype=np.uint8).tobytes()
    header = {
        "__metadata__": {"format": "pt"},
        "bytes": {"dtype": "F8_E4M3", "shape": [7], "data_offsets": [2000, 2007]},
        "none": {"dtype": "F32", "shape": [0, 3], "data_offsets": [1200, 1200]},
        "norm": {"dtype": "F32", "shape": [10, 20], "data_offsets": [1200, 2000]},
        "weight": {"dtype": "BF16", "shape": [30, 20], "data_offsets": [0, 1200]},
    }
    return safetensors(header, data)


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


@pytest.mark.parametrize("options", [[], ["--fit"], ["--best"], ["--word-bits", "8"]], ids=" ".join)
def test_files_come_back_byte_for_byte(options, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(container, "CHUNK_BYTES", 512)
    original, packed, restored = (
        tmp_path / "in.safetensors",
        tmp_path / "x.cdma",
        tmp_path / "out.safetensors",
    )
    original.write_bytes(model())
    assert run(capsys, "compress", original, packed, *options)[0] == 0
    status, said, _ = run(capsys, "decompress", packed, restored)
    assert status == 0
    assert said.startswith(f"{restored}: 3 tensors, 2,007 bytes, in ")
    assert restored.read_bytes() == original.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["in.safetensors", "out.safetensors", "x.cdma"]


def test_a_file_without_tensors(tmp_path, capsys):
    original, packed, restored = (
        tmp_path / "in.safetensors",
        tmp_path / "x.cdma",
        tmp_path / "out.safetensors",
    )
    original.write_bytes(safetensors({"__metadata__": {}}))
    assert run(capsys, "compress", original, packed)[0] == 0
    assert run(capsys, "decompress", packed, restored)[0] == 0
    assert restored.read_bytes() == original.read_bytes()


def test_every_tensor_has_its_best_format(tmp_path, capsys):
    original, packed = tmp_path / "in.safetensors", tmp_path / "x.cdma"
    original.write_bytes(model())
    summary = json.loads(run(capsys, "compress", original, packed, "--best", "--json")[1])
    assert summary["file_bytes"] == packed.stat().st_size
    assert summary["raw_bytes"] == 2007
    weight, norm, numbers = summary["tensors"]
    assert [tensor["name"] for tensor in summary["tensors"]] == ["weight", "norm", "bytes"]
    fitted = cdma.fit(_HALVES, replace(cdma.Format.preset("bf16"), zero=False))
    assert (weight["field_bits"], set(weight["values"])) == (8, set(fitted.values))
    assert (norm["word_bits"], norm["code_bits"], norm["values"]) == (32, 1, [0])
    assert numbers["word_bits"] == 8
    one = tmp_path / "one.npy"
    np.save(one, _HALVES)
    alone = json.loads(run(capsys, "compress", one, packed, "--best", "--json")[1])
    assert {**alone, "name": "weight"}.items() >= weight.items()


def test_no_flipped_bit_and_no_cut_goes_unnoticed(tmp_path, capsys):
    original, packed = tmp_path / "in.safetensors", tmp_path / "x.cdma"
    original.write_bytes(model())
    run(capsys, "compress", original, packed)
    data = packed.read_bytes()
    random = np.random.default_rng(1)
    damaged = [data[:cut] for cut in random.integers(0, len(data), 60)] + [data + b"\0"]
    for place in random.integers(0, 8 * len(data), 120):
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        damaged.append(bytes(flipped))
    for bad in damaged:
        packed.write_bytes(bad)
        status, _, err = run(capsys, "decompress", packed, tmp_path / "out")
        assert (status, "Traceback" in err, (tmp_path / "out").exists()) == (2, False, False)


def description(**changes):
    """The beginning of a file, with a checksum that is right."""
    file = BytesIO()
    found = {"head_bytes": 2, "data_bytes": 1, "tensors": 1, **changes}
    container.write_description(file, 2, found)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (description(tensors=-1), "its header makes no sense: it says Bundle(head_bytes=2"),
        (description(head_bytes=1 << 40), "its header makes no sense"),
        (description(), "it is truncated: it ends in the head of the safetensors file"),
        (description(head_bytes=0) + bytes(4), "it is not a cDMA file"),
        (
            description(head_bytes=0, tensors=0) + bytes(4),
            "its tensors do not have the 1 bytes that its header",
        ),
        (description(head_bytes=0) + bytes(4) + description(), "tensor 1 of 1 is a file of several tensors"),
    ],
)
def test_refused_with_the_reason(data, reason, tmp_path, capsys):
    (tmp_path / "x.cdma").write_bytes(data)
    status, _, err = run(capsys, "decompress", tmp_path / "x.cdma", tmp_path / "out")
    assert status == 2
    assert reason in " ".join(err.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("header", "data", "reason"),
    [
        (
            {"a": {"dtype": "U8", "shape": [2], "data_offsets": [1, 3]}},
            3,
            "data before its tensor 'a' is left out",
        ),
        (
            {
                "a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},
                "b": {"dtype": "U8", "shape": [2], "data_offsets": [1, 3]},
            },
            3,
            "the data before its tensor 'b' is shared",
        ),
        (
            {"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}},
            5,
            "3 bytes follow the data of its last",
        ),
        ([], 0, "it has a header that is not a JSON object"),
    ],
)
def test_refused_inputs(header, data, reason, tmp_path, capsys):
    path = tmp_path / "in.safetensors"
    path.write_bytes(safetensors(header, bytes(data)))
    status, _, err = run(capsys, "compress", path, tmp_path / "x.cdma")
    assert status == 2
    assert re.search(f"cannot compress .*{re.escape(reason)}", " ".join(err.split()))
    assert not (tmp_path / "x.cdma").exists()


def test_words_must_divide_elements(tmp_path, capsys):
    path = tmp_path / "in.safetensors"
    path.write_bytes(model())
    status, _, err = run(capsys, "compress", path, tmp_path / "x.cdma", "--word-bits", "16")
    assert status == 2
    assert "not a whole number of words of 16 bits" in " ".join(err.split())


def test_best_chooses_alone(tmp_path, capsys):
    path = tmp_path / "in.safetensors"
    path.write_bytes(model())
    for options in (["--fit"], ["--format", "bf16"], ["--window", "64"]):
        status, _, err = run(capsys, "compress", path, tmp_path / "x.cdma", "--best", *options)
        assert status == 2
        assert "--best chooses the format, so it takes no --fit" in " ".join(err.split())
