"""``cdma compress`` and ``cdma decompress``: files come back whole, or are refused with the reason."""

from __future__ import annotations

import io
import json
import os
import signal
import struct
import subprocess
import sys
import time
from unittest.mock import ANY
from zlib import crc32

import numpy as np
import pytest

import cdma
from cdma.app import main
from cdma.sim.codec import container
from cdma.sim.codec.npy import Tensor

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


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(container, "CHUNK_BYTES", 512)


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.usefixtures("small_chunks")
def test_files_come_back_byte_for_byte(name, tmp_path, capsys):
    original, packed, restored = tmp_path / "in.npy", tmp_path / "x.cdma", tmp_path / "out.npy"
    np.save(original, TENSORS[name])
    assert run(capsys, "compress", original, packed)[0] == 0
    assert run(capsys, "decompress", packed, restored)[0] == 0
    assert restored.read_bytes() == original.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy", "x.cdma"]


@pytest.mark.parametrize(
    "options",
    [
        ["--word-bits", "8"],
        ["--window", "64"],
        ["--word-bits", "16", "--code-bits", "2", "--values", "0", "0x3f80"],
    ],
    ids=" ".join,
)
def test_format_travels_in_the_file(options, tmp_path, capsys):
    original, packed, restored = tmp_path / "in.npy", tmp_path / "x.cdma", tmp_path / "out.npy"
    np.save(original, TENSORS["float32"])
    assert run(capsys, "compress", original, packed, *options)[0] == 0
    with packed.open("rb") as file:
        format = container.read_header(file).format
    assert format != cdma.Format()
    assert run(capsys, "decompress", packed, restored)[0] == 0
    assert restored.read_bytes() == original.read_bytes()


def packed_bytes():
    tensor = TENSORS["float32"]
    target = io.BytesIO()
    raw = io.BytesIO(tensor.tobytes())
    container.pack_file(raw, Tensor(tensor.shape, tensor.dtype), target, cdma.Format(), lambda done: None)
    return target.getvalue()


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


def rewritten(data, **changes):
    """The file with another description, and a right checksum for it."""
    size = struct.unpack("<I", data[12:16])[0]
    description = json.loads(data[16 : 16 + size]) | changes
    text = json.dumps(description).encode()
    head = data[:12] + struct.pack("<I", len(text)) + text
    return head + struct.pack("<I", crc32(head)) + data[16 + size + 4 :]


def with_damaged_literal(data):
    return data[:-1] + bytes([data[-1] ^ 0x10])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: b"", "it is not a cDMA file"),
        (lambda data: b"PK\3\4 something else", "it is not a cDMA file"),
        (lambda data: data[:10], "it is truncated: it ends in the header"),
        (
            lambda data: data[:8] + b"\3" + data[9:],
            "it has version 3 of the file format; this program reads versions 1 and 2",
        ),
        (
            lambda data: data[:12] + b"\xff\xff\xff\xff" + data[16:],
            "it is damaged: its header claims 4294967295 bytes, more than the 65536 allowed",
        ),
        (
            lambda data: data[:20] + b"X" + data[21:],
            "it is damaged: the checksum of the header is wrong",
        ),
        (lambda data: data[:-1], "it is truncated: it ends in chunk 1 of 1"),
        (with_damaged_literal, "it is damaged: the checksum of chunk 1 of 1 is wrong"),
        (lambda data: data + b"!", "it is damaged: there is something after its last chunk"),
        (
            lambda data: rewritten(data, dtype="|O"),
            "its header makes no sense: it holds elements of type object",
        ),
        (lambda data: rewritten(data, window=31), "its header makes no sense: window is 31"),
        (lambda data: rewritten(data, shape=[-1]), "its header makes no sense: the shape is (-1,)"),
        (lambda data: rewritten(data, chunk_words=0), "its header makes no sense: chunk_words is 0"),
        (lambda data: rewritten(data, chunk_words=1 << 40), "its header makes no sense: chunk_words is"),
        (lambda data: rewritten(data, word_bits=4), "its header makes no sense: the tensor holds float32"),
        (lambda data: rewritten(data, shape=[9, 5, 32]), "it is damaged: in chunk 1 of 1 "),
        (lambda data: rewritten(data, shape=[1]), "it is damaged: chunk 1 of 1 claims"),
    ],
)
def test_refused_with_the_reason(change, reason, tmp_path, capsys):
    packed, restored = tmp_path / "x.cdma", tmp_path / "out.npy"
    packed.write_bytes(change(packed_bytes()))
    restored.write_bytes(b"precious")
    status, out, err = run(capsys, "decompress", packed, restored)
    assert (status, out) == (2, "")
    assert err.startswith(f"cdma: cannot decompress {packed}: {reason}")
    assert restored.read_bytes() == b"precious"
    assert sorted(os.listdir(tmp_path)) == ["out.npy", "x.cdma"]


def npy(tensor):
    file = io.BytesIO()
    np.save(file, tensor, allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no", "it is not a .npy file: "),
        (npy(np.zeros(9))[:-1], "it ends 1 bytes before its data of 72 bytes does"),
        (npy(np.zeros(9)) + b"!", "more bytes follow its data of 72 bytes"),
        (
            npy(np.array([None, 1])),
            "it holds elements of type object, not integers, floating-point or complex numbers",
        ),
        (
            npy(np.array(["a"])),
            "it holds elements of type <U1, not integers, floating-point or complex numbers",
        ),
        (npy(np.zeros(2, [("x", "f4")])), "it holds elements of type [('x', '<f4')], not integers"),
        (b"\x93NUMPY\3\0" + npy(np.zeros(2))[8:], "it is a .npy file of version 3.0, "),
    ],
    ids=["foreign", "short", "long", "objects", "text", "records", "version"],
)
def test_refused_inputs(data, reason, tmp_path, capsys):
    original, packed = tmp_path / "in.npy", tmp_path / "x.cdma"
    original.write_bytes(data)
    status, _, err = run(capsys, "compress", original, packed)
    assert status == 2
    assert err.startswith(f"cdma: cannot compress {original}: {reason}")
    assert os.listdir(tmp_path) == ["in.npy"]


def test_refused_paths(tmp_path, capsys):
    original = tmp_path / "in.npy"
    np.save(original, TENSORS["int8"])
    alias = tmp_path / "alias.npy"
    alias.symlink_to(original)
    for output in (original, alias):
        status, _, err = run(capsys, "compress", original, output)
        assert (status, err) == (2, f"cdma: {output} is the input; the output must be another file\n")
    status, _, err = run(capsys, "compress", original, tmp_path)
    assert (status, err) == (
        2,
        f"cdma: {tmp_path} exists and is not a regular file, so it cannot be replaced\n",
    )
    status, _, err = run(capsys, "compress", original, tmp_path / "no" / "x.cdma")
    assert (status, err) == (2, f"cdma: cannot write {tmp_path}/no/x.cdma: No such file or directory\n")
    status, _, err = run(capsys, "decompress", tmp_path / "none", tmp_path / "x")
    assert (status, err) == (2, f"cdma: cannot read {tmp_path}/none: No such file or directory\n")


def test_words_must_divide_elements(tmp_path, capsys):
    original = tmp_path / "in.npy"
    np.save(original, TENSORS["int8"])
    status, _, err = run(capsys, "compress", original, tmp_path / "x.cdma", "--word-bits", "32")
    assert (status, err) == (
        2,
        "cdma: the tensor holds int8, 8 bits; that is not a whole number of words of 32 bits\n",
    )


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
        deadline = time.monotonic() + 30
        while not list(tmp_path.glob(".x.cdma.*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert list(tmp_path.glob(".x.cdma.*"))
        process.send_signal(number)
        assert process.wait(30) == (128 + number)
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
