"""What software calls: any buffer in, streams and words out, with kernels in C or without. Results in buffers of the
caller and in new memory: the same bytes, and none outside, whatever the stream is.
"""

from __future__ import annotations

import array as arrays

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cdma
from cdma.sim.codec import model, software
from cdma.sim.codec import software as huge_pages
from cdma.sim.codec.software import Kernels, new_array
from cdma.sim.codec.stimuli import SHAPES, draw
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


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("sharing", [{}, {"threads": 3, "chunk_bytes": 4096}])
@pytest.mark.parametrize("format", [cdma.Format(16, levels=2), cdma.Format(16, 64, 2, (7, 0, 1))], ids=str)
def test_what_changed_since_a_base(sharing, format):
    rng = np.random.default_rng(5)
    base = rng.standard_normal(20_000).astype(np.float16)
    new = base.copy()
    new[rng.random(20_000) < 0.01] += 1
    stream = cdma.compress(new, format, base=base, **sharing)
    difference = new.view(np.uint16) ^ base.view(np.uint16)
    assert stream == model.compress(difference, format)
    assert stream == cdma.compress(
        new, format, base=base, out=bytearray(format.bound_bytes(20_000)), **sharing
    )
    assert cdma.analyse(new, format, base=base) == cdma.analyse(difference, format)
    assert cdma.decompress(stream, 20_000, format, base=base, **sharing).tobytes() == new.tobytes()
    result = cdma.decompress(stream, 20_000, format, base=base, out=base, **sharing)
    assert np.shares_memory(result, base)
    assert base.tobytes() == new.tobytes()


def test_fit_chooses_the_levels():
    rng = np.random.default_rng(5)
    base = rng.integers(0, 65536, 20_000, np.uint16)
    for share, levels in ((0.01, 2), (1, 1)):
        new = np.where(rng.random(20_000) < share, base + np.uint16(1), base)
        fitted = cdma.fit(new, cdma.Format(16, levels=2, group=64), base=base)
        assert fitted.levels == levels
        assert cdma.fit(new, cdma.Format(16), base=base) == cdma.Format(16).with_table(fitted.values)


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
        (lambda: cdma.compress(WORDS, base=WORDS[1:]), "the base has 999 words; it must have 1000, as the"),
        (
            lambda: cdma.compress(WORDS, base=_SMALL),
            "base is no tensor for this format: the array holds uint8, 8",
        ),
        (
            lambda: cdma.compress(WORDS[:9], base=_SMALL[:36].view(np.uint32), out=_SMALL),
            "out is a part of the base; it must be",
        ),
        (
            lambda: cdma.decompress(bytes(9), 9, base=_SMALL[:36].view(np.uint32), out=_SMALL[4:]),
            "out is a part of the base; it must be all of it, or another buffer",
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


#: Words of so many bytes do not fit a buffer that is kept: their memory is new. The stream is large, too.
NEW = 34_000_000


def _verdict(call):
    """Words, or what an error says."""
    try:
        return call().tolist()
    except cdma.CorruptStream as error:
        return str(error), error.kind, error.word


@pytest.mark.slow
@pytest.mark.usefixtures("either")
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(SHAPES),
    st.integers(0, 2**32),
    st.integers(0, 9),
    st.sampled_from([1, 3]),
    st.sampled_from([1, 2]),
)
def test_out_has_what_comes_without_it(shape, seed, before, threads, levels):
    """``out`` begins anywhere, and what is before and after its part stays."""
    rng = np.random.default_rng(seed)
    format, words = draw(rng, shape, levels)
    bound, stream = format.bound_bytes(len(words)), model.compress(words, format)
    shared = {"threads": threads, "chunk_bytes": 4096}
    assert cdma.compress(words, format, **shared) == stream
    room = np.full(before + bound + 40, 0xA5, np.uint8)
    made = cdma.compress(words, format, out=room[before : before + bound + 20], **shared)
    assert made == stream
    assert made.obj is not None
    assert (room[:before] == 0xA5).all()
    assert (room[before + bound :] == 0xA5).all()
    room = np.full(before + words.nbytes + 40, 0xA5, np.uint8)
    back = cdma.decompress(
        stream, len(words), format, out=room[before : before + words.nbytes + 20], **shared
    )
    assert np.shares_memory(back, room) or not len(words)
    assert back.tolist() == words.tolist() == cdma.decompress(stream, len(words), format, **shared).tolist()
    assert (room[:before] == 0xA5).all()
    assert (room[before + words.nbytes :] == 0xA5).all()
    for short in {0, bound - 1} - {bound, -1}:
        with pytest.raises(cdma.ParameterError, match=f"out has {short} bytes; the stream of"):
            cdma.compress(words, format, out=bytearray(short))


@pytest.mark.slow
@pytest.mark.usefixtures("either")
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(SHAPES), st.integers(0, 2**32), st.sampled_from([1, 3]), st.sampled_from([1, 2]))
def test_hostile_streams_stay_within_out(shape, seed, threads, levels):
    rng = np.random.default_rng(seed)
    format, words = draw(rng, shape, levels)
    stream = bytearray(model.compress(words, format))
    for place in rng.integers(0, max(len(stream), 1), 3)[: len(stream)]:
        stream[place] ^= 1 << rng.integers(0, 8)
    del stream[rng.integers(0, len(stream) + 1) :]
    expected = _verdict(lambda: model.decompress(stream, len(words), format))
    room = np.full(words.nbytes + 64, 0xA5, np.uint8)
    shared = {"threads": threads, "chunk_bytes": 4096}
    assert _verdict(lambda: cdma.decompress(stream, len(words), format, out=room, **shared)) == expected
    assert (room[words.nbytes :] == 0xA5).all()
    assert _verdict(lambda: cdma.decompress(stream, len(words), format, **shared)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("either", ["C"], indirect=True)
@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("density", [0.1, 1])
def test_large_results_are_the_same(threads, density):
    rng = np.random.default_rng(6)
    words = rng.integers(1, 2**32, NEW // 4, np.uint32) * (rng.random(NEW // 4) < density)
    words = words.astype(np.uint32)
    stream = cdma.compress(words, threads=threads)
    assert type(stream) is bytes
    assert stream == bytes(cdma.compress(words, out=bytearray(cdma.Format().bound_bytes(len(words)))))
    assert np.array_equal(cdma.decompress(stream, len(words), threads=threads), words)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["u1", "u2", "u4"])
def test_new_arrays(monkeypatch, threads, kind):
    monkeypatch.setattr(huge_pages, "_ALWAYS_NEW", 1 << 20)
    for count in (0, 5, 1 << 20, (1 << 21) + 1):
        made = new_array(count, np.dtype(kind), threads)
        assert (made.shape, made.dtype) == ((count,), np.dtype(kind))
        made[:] = 7
        assert made.flags.writeable
        assert made.flags.c_contiguous
        assert made.nbytes < 1 << 20 or made.ctypes.data % (1 << 21) == 0


def test_bytes_are_as_many_as_were_written():
    if compiler() is None:
        pytest.skip("there is no C compiler")
    filled = load(build()).filled
    for bound in (0, 1, 100, (1 << 22) - 1, 1 << 22, 5_000_001):
        for size in {0, bound // 2, bound}:
            assert len(filled(bound, lambda address, size=size: size)) == size
    for wrong in (101, -1):
        with pytest.raises(ValueError, match="more bytes were written than there is space for"):
            filled(100, lambda address, size=wrong: size)
    with pytest.raises(ZeroDivisionError):
        filled(100, lambda address: 1 // 0)
    with pytest.raises(TypeError):
        filled(100, lambda address: None)
