"""The registry of codecs."""

import sys
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma import CorruptStream, ParameterError
from cdma.gpu.peers import codecs


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

    def test_wrong_lengths_and_garbage_are_refused(self, name):
        packet = np.array([0, 1, 2, 0] * 50, np.uint16)
        codec = codecs.make(name, 16, packet)
        data = codec.compress(packet)
        wrong = [
            (data, 100),
            (data, 300),
            (b"", 200),
            (data[:-2], 200),
            (b"\xff" * 40, 200),
            (data + b"abc", 200),
        ]
        for stream, words in wrong:
            with pytest.raises(CorruptStream):
                codec.decompress(stream, words)

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

    @pytest.mark.parametrize(
        ("codec", "bits", "message"),
        [
            ("gzip", 8, "codec is 'gzip'; it must be one of zv, rl, zl, fvc1"),
            ("zv", 4, "word_bits is 4; codecs of bytes have words of 8, 16 or 32"),
        ],
    )
    def test_refusals(self, codec, bits, message):
        with pytest.raises(ParameterError, match=message):
            codecs.make(codec, bits, np.zeros(1, np.uint8))

    def test_without_lz4(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "lz4", None)
        monkeypatch.setitem(sys.modules, "lz4.block", None)
        assert codecs.available() == ("zv", "rl", "zl", "fvc1", "fvc2", "fvc4", "csr")
        with pytest.raises(codecs.MissingCodec, match=r"pip install '?.*\[bench\]"):
            codecs.make("lz4", 8, np.zeros(1, np.uint8))
