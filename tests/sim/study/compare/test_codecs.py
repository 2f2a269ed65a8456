"""The registry of codecs."""

import sys
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma import CorruptStream, ParameterError
from cdma.sim.study.compare import codecs


@pytest.fixture(params=list(codecs.CODECS))
def name(request):
    if request.param == "lz4":
        pytest.importorskip("lz4")
    return request.param


class TestRegistry:
    @given(
        name=st.sampled_from(codecs.available()),
        word_bits=st.sampled_from([8, 16, 32]),
        words=st.lists(st.sampled_from([0, 0, 1, 2, 128, 255]), max_size=300),
    )
    def test_round_trip_and_size(self, name, word_bits, words):
        packet = np.array(words, f"u{word_bits // 8}")
        codec = codecs.make(name, word_bits, packet)
        data = codec.compress(packet)
        assert codec.decompress(data, len(packet)).tolist() == words
        assert codec.size(packet) == len(data) + codec.side_bytes
        assert codec.name == name

    def test_too_few_and_too_many_words(self, name):
        packet = np.array([0, 1, 2, 0] * 50, np.uint16)
        codec = codecs.make(name, 16, packet)
        data = codec.compress(packet)
        for words in (100, 300):
            with pytest.raises(CorruptStream):
                codec.decompress(data, words)

    def test_bytes_after_the_last_word(self, name):
        packet = np.zeros(6, np.uint32)
        codec = codecs.make(name, 32, packet)
        with pytest.raises(CorruptStream):
            codec.decompress(codec.compress(packet) + b"abc", 6)

    def test_garbage(self, name):
        packet = np.array([0, 1, 2, 0] * 50, np.uint16)
        codec = codecs.make(name, 16, packet)
        for data in (b"", codec.compress(packet)[:-2], b"\xff" * 40):
            with pytest.raises(CorruptStream):
                codec.decompress(data, len(packet))

    def test_zlib_does_not_fill_the_memory(self):
        bomb = zlib.compress(bytes(50_000_000))
        codec = codecs.make("zl", 8, np.zeros(1, np.uint8))
        tracemalloc.start()
        try:
            with pytest.raises(CorruptStream, match="zl"):
                codec.decompress(bomb, 10)
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()

    def test_zlib_refuses_what_follows(self):
        codec = codecs.make("zl", 8, np.zeros(1, np.uint8))
        with pytest.raises(CorruptStream, match="bytes follow the zlib stream"):
            codec.decompress(codec.compress(np.zeros(9, np.uint8)) + b"x", 9)

    def test_unknown(self):
        with pytest.raises(ParameterError, match="codec is 'gzip'; it must be one of zv, rl, zl, fvc1"):
            codecs.make("gzip", 8, np.zeros(1, np.uint8))

    def test_word_size(self):
        with pytest.raises(ParameterError, match="word_bits is 4; codecs of bytes have words of 8, 16 or 32"):
            codecs.make("zv", 4, np.zeros(1, np.uint8))

    def test_without_lz4(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "lz4", None)
        monkeypatch.setitem(sys.modules, "lz4.block", None)
        assert codecs.available() == ("zv", "rl", "zl", "fvc1", "fvc2", "fvc4", "csr")
        with pytest.raises(codecs.MissingCodec, match=r"pip install '?.*\[bench\]"):
            codecs.make("lz4", 8, np.zeros(1, np.uint8))
