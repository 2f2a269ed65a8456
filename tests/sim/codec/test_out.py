"""Results in buffers of the caller and in new memory: the same bytes, and none outside, whatever the stream is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cdma
from cdma.sim.codec import model, software
from cdma.sim.codec import software as huge_pages
from cdma.sim.codec.software import Kernels, new_array
from cdma.sim.codec.stimuli import SHAPES, draw, draw_words
from tests.support.native import build, compiler, load

#: Words of so many bytes do not fit a buffer that is kept: their memory is new. The stream is large, too.
NEW = 34_000_000


@pytest.fixture(params=["numpy", "C"])
def either(request, monkeypatch):
    """The golden model, and the fastest kernels."""
    monkeypatch.delenv(software.VARIABLE, raising=False)
    kernels = {}
    if request.param == "C":
        if compiler() is None:
            pytest.skip("there is no C compiler")
        module = load(build())
        kernels = {level: Kernels(module, level) for level in module.levels()}
    monkeypatch.setattr(software, "installed", lambda: kernels)
    return request.param


def _verdict(call):
    """Words, or what an error says."""
    try:
        return call().tolist()
    except cdma.CorruptStream as error:
        return str(error), error.kind, error.word


@pytest.mark.slow
@pytest.mark.usefixtures("either")
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(SHAPES), st.integers(0, 2**32), st.integers(0, 9), st.sampled_from([1, 3]))
def test_out_has_what_comes_without_it(shape, seed, before, threads):
    """``out`` begins anywhere, and what is before and after its part stays."""
    rng = np.random.default_rng(seed)
    format, *_ = draw(rng, shape)
    words = draw_words(rng, format)
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
@given(st.sampled_from(SHAPES), st.integers(0, 2**32), st.sampled_from([1, 3]))
def test_hostile_streams_stay_within_out(shape, seed, threads):
    rng = np.random.default_rng(seed)
    format, *_ = draw(rng, shape)
    words = draw_words(rng, format)
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
