"""CRC-32C in software, against the published vectors. ``cdma compress`` and ``cdma decompress``: .npy and safetensors
files come back byte for byte, or are refused.
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
from dataclasses import replace
from unittest.mock import ANY
from zlib import crc32

import numpy as np
import pytest

import cdma
from cdma.app import main
from cdma.sim.codec import container
from cdma.sim.codec.container import crc32c
from cdma.sim.codec.files import Tensor
from tests.support.patience import PATIENCE, awaited
from tests.support.stimuli import noise, safetensors, tensor


@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        # RFC 3720, appendix B.4, whose bytes are in the order of memory.
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
    ],
)
def test_known_vectors_whole_and_in_parts(data: bytes, crc: int) -> None:
    cut = random.Random(2).randrange(len(data) + 1)
    assert crc32c(data) == crc32c(data[cut:], crc32c(data[:cut])) == crc


def test_every_way_to_a_checksum(monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.random.default_rng(1).integers(0, 256, 9 * container._ROW + 13, np.uint8)
    expected = 0x12345678 ^ 0xFFFFFFFF
    for byte in data.tolist():
        expected = container.TABLE[(expected ^ byte) & 255] ^ expected >> 8
    for native in (container.native, lambda: None):
        monkeypatch.setattr(container, "native", native)
        assert crc32c(data, 0x12345678) == expected ^ 0xFFFFFFFF


TENSORS = {
    "float32": np.maximum(np.random.default_rng(1).standard_normal((9, 5, 33)), 0).astype(np.float32),
    "float16": np.arange(70, dtype=np.float16).reshape(7, 10),
    "int8": np.tile(np.array([0, 0, -1, 0], np.int8), 90),
    "float64": np.linspace(-1, 1, 50),
    "big-endian": np.arange(41, dtype=">i4"),
    "complex64": np.arange(9, dtype=np.complex64),
    "complex128": np.arange(9, dtype=np.complex128) * 1j,
    "bool": np.arange(99) % 7 == 0,
    "fortran": np.asfortranarray(np.arange(60, dtype=np.int16).reshape(6, 10)),
    "scalar": np.array(2.5, np.float32),
    "empty": np.zeros((3, 0, 2), np.float32),
}


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


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(container, "CHUNK_BYTES", 512)


def npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, " ".join(err.split())


#: Files with the options that they are compressed with: every kind of element, and formats that travel in the file.
FILES = {
    **{name: (npy(array), []) for name, array in TENSORS.items()},
    "words of 8 bits": (npy(TENSORS["float32"]), ["--word-bits", "8"]),
    "table": (npy(TENSORS["float32"]), ["--word-bits", "16", "--code-bits", "2", "--values", "0", "0x3f80"]),
    "several tensors": (model(), []),
    "several, fitted": (model(), ["--fit"]),
    "several, each in its best format": (model(), ["--best"]),
    "without tensors": (safetensors({"__metadata__": {}}), []),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.usefixtures("small_chunks")
def test_files_come_back_byte_for_byte(name, tmp_path, capsys):
    data, options = FILES[name]
    original, packed, restored = tmp_path / "in", tmp_path / "x.cdma", tmp_path / "out"
    original = original.with_suffix(".npy" if data.startswith(b"\x93NUMPY") else ".safetensors")
    original.write_bytes(data)
    assert run(capsys, "compress", original, packed, *options)[0] == 0
    status, said, _ = run(capsys, "decompress", packed, restored)
    assert (status, restored.read_bytes()) == (0, data)
    assert sorted(os.listdir(tmp_path)) == [original.name, "out", "x.cdma"]
    if name.startswith("several"):
        assert said.startswith(f"{restored}: 3 tensors, 2,007 bytes, in ")
    elif options:
        with packed.open("rb") as file:
            assert container.read_header(file).format != cdma.Format()


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


def packed_bytes():
    tensor = TENSORS["float32"]
    target = io.BytesIO()
    raw = io.BytesIO(tensor.tobytes())
    container.pack_file(raw, Tensor(tensor.shape, tensor.dtype), target, cdma.Format(), lambda done: None)
    return target.getvalue()


@pytest.mark.slow
@pytest.mark.usefixtures("small_chunks")
def test_no_flipped_bit_and_no_cut_goes_unnoticed(tmp_path):
    good = packed_bytes()

    def read(data):
        source = io.BytesIO(data)
        container.unpack_file(source, container.read_header(source), io.BytesIO(), lambda done: None)

    read(good)
    for place in range(len(good)):
        damaged = bytearray(good)
        damaged[place] ^= 1 << place % 8
        with pytest.raises(container.BadFile):
            read(bytes(damaged))
    for size in range(len(good)):
        with pytest.raises(container.BadFile, match=r"truncated|it is not a cDMA file"):
            read(good[:size])


@pytest.mark.slow
@pytest.mark.usefixtures("small_chunks")
def test_no_flipped_bit_and_no_cut_of_several_tensors_goes_unnoticed(tmp_path, capsys):
    """Of each part of the file: its head, its safetensors header, and each tensor."""
    original, packed = tmp_path / "in.safetensors", tmp_path / "x.cdma"
    original.write_bytes(model())
    run(capsys, "compress", original, packed)
    data = packed.read_bytes()
    random = np.random.default_rng(1)
    damaged = [data[:cut] for cut in random.integers(0, len(data), 20)] + [data + b"\0"]
    for place in random.integers(0, 8 * len(data), 60):
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        damaged.append(bytes(flipped))
    for bad in damaged:
        packed.write_bytes(bad)
        status, _, err = run(capsys, "decompress", packed, tmp_path / "out")
        assert (status, "Traceback" in err, (tmp_path / "out").exists()) == (2, False, False)


def rewritten(data, **changes):
    """The file with another description, and a right checksum for it."""
    size = struct.unpack("<I", data[12:16])[0]
    description = json.loads(data[16 : 16 + size]) | changes
    text = json.dumps(description).encode()
    head = data[:12] + struct.pack("<I", len(text)) + text
    return head + struct.pack("<I", crc32(head)) + data[16 + size + 4 :]


def description(**changes):
    """The beginning of a file, with a checksum that is right."""
    file = io.BytesIO()
    found = {"head_bytes": 2, "data_bytes": 1, "tensors": 1, **changes}
    container.write_description(file, 2, found)
    return file.getvalue()


def with_byte(data, place, value):
    data[place] = value
    return data


GOOD = packed_bytes()
#: Files that are not decompressed, each with the reason.
BAD_FILES = [
    (b"", "it is not a cDMA file"),
    (b"PK\3\4 something else", "it is not a cDMA file"),
    (GOOD[:10], "it is truncated: it ends in the header"),
    (with_byte(bytearray(GOOD), 8, 3), "it has version 3 of the file format; this program reads"),
    (
        GOOD[:12] + b"\xff\xff\xff\xff" + GOOD[16:],
        "it is damaged: its header claims 4294967295 bytes, more than the 65536 allowed",
    ),
    (with_byte(bytearray(GOOD), 20, 88), "it is damaged: the checksum of the header is wrong"),
    (GOOD[:-1], "it is truncated: it ends in chunk 1 of 1"),
    (
        with_byte(bytearray(GOOD), -1, GOOD[-1] ^ 16),
        "it is damaged: the checksum of chunk 1 of 1 is wrong",
    ),
    (GOOD + b"!", "it is damaged: there is something after its last chunk"),
    (rewritten(GOOD, dtype="|O"), "its header makes no sense: it holds elements of type object"),
    (rewritten(GOOD, window=31), "its header makes no sense: window is 31"),
    (rewritten(GOOD, shape=[-1]), "its header makes no sense: the shape is (-1,)"),
    (rewritten(GOOD, chunk_words=0), "its header makes no sense: chunk_words is 0"),
    (rewritten(GOOD, chunk_words=1 << 40), "its header makes no sense: chunk_words is"),
    (rewritten(GOOD, word_bits=4), "its header makes no sense: the tensor holds float32"),
    (rewritten(GOOD, shape=[9, 5, 32]), "it is damaged: in chunk 1 of 1 "),
    (rewritten(GOOD, shape=[1]), "it is damaged: chunk 1 of 1 claims"),
    (description(tensors=-1), "its header makes no sense: it says Bundle(head_bytes=2"),
    (description(head_bytes=1 << 40), "its header makes no sense"),
    (description(), "it is truncated: it ends in the head of the safetensors file"),
    (description(head_bytes=0) + bytes(4), "it is not a cDMA file"),
    (description(head_bytes=0, tensors=0) + bytes(4), "its tensors do not have the 1 bytes that its header"),
    (description(head_bytes=0) + bytes(4) + description(), "tensor 1 of 1 is a file of several tensors"),
]


@pytest.mark.parametrize(("data", "reason"), BAD_FILES, ids=[reason[:40] for _, reason in BAD_FILES])
def test_incomplete_files_are_refused_with_the_reason(data, reason, tmp_path, capsys):
    packed, restored = tmp_path / "x.cdma", tmp_path / "out.npy"
    packed.write_bytes(data)
    restored.write_bytes(b"precious")
    status, out, err = run(capsys, "decompress", packed, restored)
    assert (status, out) == (2, "")
    assert err.startswith(f"cdma: cannot decompress {packed}:")
    assert reason in err
    assert restored.read_bytes() == b"precious"
    assert sorted(os.listdir(tmp_path)) == ["out.npy", "x.cdma"]


def parts(*offsets):
    """The header of a safetensors file with tensors of two bytes there."""
    return {
        name: {"dtype": "U8", "shape": [2], "data_offsets": [at, at + 2]}
        for name, at in zip("ab", offsets, strict=False)
    }


#: Inputs that are not compressed, by their suffix and the reason.
BAD_INPUTS = [
    (".npy", b"no", "it is not a .npy file: "),
    (".npy", npy(np.zeros(9))[:-1], "it ends 1 bytes before its data of 72 bytes does"),
    (".npy", npy(np.zeros(9)) + b"!", "more bytes follow its data of 72 bytes"),
    (".npy", npy(np.array([None, 1])), "it holds elements of type object, not integers, floating-point"),
    (".npy", npy(np.array(["a"])), "it holds elements of type <U1, not integers"),
    (".npy", npy(np.zeros(2, [("x", "f4")])), "it holds elements of type [('x', '<f4')], not integers"),
    (".npy", b"\x93NUMPY\3\0" + npy(np.zeros(2))[8:], "it is a .npy file of version 3.0, "),
    (".safetensors", safetensors(parts(1), bytes(3)), "data before its tensor 'a' is left out"),
    (".safetensors", safetensors(parts(0, 1), bytes(3)), "the data before its tensor 'b' is shared"),
    (".safetensors", safetensors(parts(0), bytes(5)), "3 bytes follow the data of its last"),
    (".safetensors", safetensors([]), "it has a header that is not a JSON object"),
]


@pytest.mark.parametrize(("suffix", "data", "reason"), BAD_INPUTS, ids=[row[2][:40] for row in BAD_INPUTS])
def test_inputs_that_are_refused(suffix, data, reason, tmp_path, capsys):
    original = tmp_path / f"in{suffix}"
    original.write_bytes(data)
    status, _, err = run(capsys, "compress", original, tmp_path / "x.cdma")
    assert status == 2
    assert re.search(f"^cdma: cannot compress .*{re.escape(reason)}", err)
    assert os.listdir(tmp_path) == [original.name]


def test_paths_and_options_that_are_refused(tmp_path, capsys):
    original, alias, several = tmp_path / "in.npy", tmp_path / "alias.npy", tmp_path / "in.safetensors"
    np.save(original, TENSORS["int8"])
    alias.symlink_to(original)
    several.write_bytes(model())
    packed = tmp_path / "x.cdma"
    for arguments, reason in (
        (["compress", original, original], f"{original} is the input; the output must be another file"),
        (["compress", original, alias], f"{alias} is the input; the output must be another file"),
        (["compress", original, tmp_path], f"{tmp_path} exists and is not a regular file, so it cannot be"),
        (["compress", original, tmp_path / "no" / "x"], f"cannot write {tmp_path}/no/x: No such file"),
        (["decompress", tmp_path / "none", packed], f"cannot read {tmp_path}/none: No such file"),
        (["compress", original, packed, "--word-bits", "32"], "the tensor holds int8, 8 bits; that is not a"),
        (["compress", several, packed, "--word-bits", "16"], "not a whole number of words of 16 bits"),
        (["compress", several, packed, "--best", "--fit"], "--best chooses the format, so it takes no --fit"),
        (["compress", several, packed, "--best", "--window", "64"], "--best chooses the format, so it takes"),
    ):
        status, _, err = run(capsys, *arguments)
        assert status == 2
        assert reason in err
    assert not packed.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_run_leaves_nothing(number, tmp_path):
    """The input is a pipe that never ends, so the run is surely in its middle when the signal comes."""
    pipe, packed = tmp_path / "in.npy", tmp_path / "x.cdma"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "cdma", "compress", pipe, packed],
        stderr=subprocess.DEVNULL,
        # Tests that run in the background of a script inherit that interrupts are ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with pipe.open("wb") as writer:
        np.lib.format.write_array_header_1_0(
            writer, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40,)}
        )
        writer.write(bytes(container.CHUNK_BYTES))
        writer.flush()
        awaited(lambda: list(tmp_path.glob(".x.cdma.*")))
        process.send_signal(number)
        assert process.wait(PATIENCE) == (128 + number)
    assert os.listdir(tmp_path) == ["in.npy"]


def test_memory_does_not_grow_with_the_file(tmp_path):
    """A file of 256 MB within 160 MB more of address space than importing takes."""
    original, packed, restored = tmp_path / "in.npy", tmp_path / "x.cdma", tmp_path / "out.npy"
    with original.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (1 << 26,)}
        )
        file.truncate(file.tell() + (1 << 28))
    script = (
        "import resource, sys\n"
        "import cdma.sim.codec.model, rich.progress\n"
        "from cdma.app import main\n"
        "pages = int(open('/proc/self/statm').read().split()[0])\n"
        "most = pages * resource.getpagesize() + (160 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    for arguments in (["compress", original, packed], ["decompress", packed, restored]):
        subprocess.run([sys.executable, "-c", script, *arguments], check=True, stdout=subprocess.DEVNULL)
    assert restored.stat().st_size == original.stat().st_size


def test_json_summaries(tmp_path, capsys):
    original, packed, restored = tmp_path / "in.npy", tmp_path / "x.cdma", tmp_path / "out.npy"
    np.save(original, TENSORS["float16"])
    _, out, _ = run(capsys, "compress", original, packed, "--json")
    seconds = {"seconds": ANY, "file_seconds": ANY}
    assert json.loads(out) == seconds | {
        "raw_bytes": 140,
        "file_bytes": packed.stat().st_size,
        "word_bits": 16,
    }
    _, out, _ = run(capsys, "decompress", packed, restored, "--json")
    assert json.loads(out) == seconds | {"shape": [7, 10], "dtype": "<f2", "raw_bytes": 140}
