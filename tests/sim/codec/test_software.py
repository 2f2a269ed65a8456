"""What software calls: any buffer in, streams and words out, with kernels in C or without."""

from __future__ import annotations

import array as arrays

import numpy as np
import pytest

import cdma
from cdma.sim.codec import model, software
from cdma.sim.codec.software import Kernels
from tests.support.native import build, compiler, load

WORDS = np.random.default_rng(4).integers(0, 3, 1000).astype(np.uint32)
STREAM = model.compress(WORDS)


@pytest.fixture(params=["numpy", "C"])
def either(request, monkeypatch):
    """The golden model, and the fastest kernels."""
    monkeypatch.delenv(software.VARIABLE, raising=False)
    if request.param == "numpy":
        monkeypatch.setattr(software, "installed", dict)
    elif compiler() is None:
        pytest.skip("there is no C compiler")
    else:
        module = load(build())
        kernels = {level: Kernels(module, level) for level in module.levels()}
        monkeypatch.setattr(software, "installed", lambda: kernels)
    return request.param


def test_the_backend_is_what_there_is_or_what_is_asked_for(either, monkeypatch):
    names = ["numpy", *software.installed()]
    assert cdma.backend() == names[-1]
    assert (either == "numpy") == (len(names) == 1)
    for name in names:
        monkeypatch.setenv(software.VARIABLE, name)
        assert cdma.backend() == name
        assert cdma.compress(WORDS) == STREAM
    monkeypatch.setenv(software.VARIABLE, "mmx")
    with pytest.raises(cdma.ParameterError) as caught:
        cdma.compress(WORDS)
    assert str(caught.value) == f"CDMA_BACKEND is 'mmx'; here it can be one of {', '.join(names)}"


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("sharing", [{}, {"threads": 3}, {"threads": 3, "chunk_bytes": 4096}])
def test_buffers_of_the_caller(sharing):
    format = cdma.Format()
    room = bytearray(format.bound_bytes(len(WORDS)) + 5)
    stream = cdma.compress(WORDS, out=room, **sharing)
    assert bytes(stream) == STREAM
    assert room[: len(STREAM)] == STREAM
    words = np.zeros(1001, np.float32)
    result = cdma.decompress(stream, len(WORDS), out=words, **sharing)
    assert np.shares_memory(result, words)
    assert result.tolist() == WORDS.tolist()
    assert words[-1] == 0


_SMALL = np.zeros(100, np.uint8)


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: cdma.compress(WORDS, out=np.zeros(9, np.uint8)),
            "out has 9 bytes; the stream of 1000 words",
        ),
        (lambda: cdma.compress(WORDS, out=bytes(5000)), "out can only be read; it must be a buffer that can"),
        (lambda: cdma.compress(WORDS, out=[0]), "out must be a contiguous buffer, such as an array"),
        (lambda: cdma.compress(WORDS, out=np.zeros((99, 99), np.uint8).T), "out must be a contiguous buffer"),
        (lambda: cdma.compress(WORDS, out=np.empty(999, object)), "out holds Python objects; it must hold"),
        (
            lambda: cdma.decompress(STREAM, 1000, out=memoryview(np.empty(999, object))),
            "out holds Python objects",
        ),
        (
            lambda: cdma.decompress(STREAM, 1000, out=np.empty(999, [("a", "O"), ("b", "M8[s]")])),
            "out holds Python objects",
        ),
        (lambda: cdma.compress(WORDS[:10], out=WORDS), "out is a part of the array"),
        (lambda: cdma.decompress(_SMALL, 10, out=_SMALL), "out is a part of the data"),
        (lambda: cdma.decompress(bytes(9), 26, out=_SMALL), "out has 100 bytes; 26 words have 104"),
        (lambda: cdma.compress(WORDS, threads=0), "threads is 0; it must be a whole number from 1 to 1024"),
        (lambda: cdma.decompress(bytes(9), 26, chunk_bytes=4095), "chunk_bytes is 4095; .* from 4096 to"),
        (
            lambda: cdma.decompress(bytes(9), 26, chunk_bytes=2.0**20),
            "chunk_bytes is 1048576.0; .* from 4096",
        ),
        (lambda: cdma.compress(b"abc"), "the buffer has 3 bytes; that is not a whole number of words"),
    ],
)
def test_refused_calls(call, message):
    with pytest.raises(cdma.ParameterError, match=message):
        call()


@pytest.mark.usefixtures("either")
def test_any_buffer_without_a_copy():
    for data in (WORDS.tobytes(), bytearray(WORDS), memoryview(WORDS), arrays.array("I", WORDS.tolist())):
        assert cdma.compress(data) == STREAM
        assert np.shares_memory(model.words_of(data, cdma.Format()), np.frombuffer(data, np.uint8))


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int32])
def test_counts_are_any_whole_numbers(kind):
    count = kind(100)
    assert cdma.decompress(cdma.compress(WORDS[:100]), count).tolist() == WORDS[:100].tolist()
    assert cdma.Format().bound(count) == cdma.Format().bound(100)
    for wrong in (1.0, True, None, np.float32(1), kind(0) - 1.5):
        with pytest.raises(cdma.ParameterError, match="it must be a whole number of words, 0 or more"):
            cdma.decompress(STREAM, wrong)


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn"])
def test_types_of_ml_dtypes(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numbers = np.linspace(-2, 2, 90, dtype=np.float32).astype(getattr(ml_dtypes, name)).reshape(9, 10)
    bits = numbers.view(f"u{numbers.dtype.itemsize}")
    format = cdma.Format(bits.dtype.itemsize * 8)
    assert cdma.compress(numbers, format) == cdma.compress(bits, format)
    assert cdma.compress(numbers.T, format) == cdma.compress(bits.T, format)
    restored = cdma.decompress(cdma.compress(numbers, format), 90, format)
    assert (restored.view(numbers.dtype).reshape(9, 10) == numbers).all()


@pytest.mark.usefixtures("either")
def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    numbers = torch.linspace(-2, 2, 90).reshape(9, 10)
    for kind, format in ((torch.float32, cdma.Format()), (torch.bfloat16, cdma.Format.preset("bf16"))):
        tensor = numbers.to(kind)
        bits = tensor.view(torch.int16 if kind is torch.bfloat16 else torch.int32).numpy()
        assert cdma.compress(tensor, format) == cdma.compress(bits, format)
        assert cdma.compress(tensor.T, format) == cdma.compress(bits.T, format)
        assert cdma.compress(tensor.requires_grad_(), format) == cdma.compress(bits, format)
        assert cdma.analyse(tensor, format).words == 90


@pytest.mark.usefixtures("either")
def test_corrupt_streams_are_named_as_by_the_golden_model():
    for stream in (STREAM[:-1], STREAM + b"!!!!!", b"\xff" * 40, b""):
        with pytest.raises(cdma.CorruptStream) as expected:
            model.decompress(stream, len(WORDS))
        with pytest.raises(cdma.CorruptStream) as caught:
            cdma.decompress(stream, len(WORDS))
        assert str(caught.value) == str(expected.value)
        assert (caught.value.kind, caught.value.word) == (expected.value.kind, expected.value.word)
