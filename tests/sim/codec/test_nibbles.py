"""Words of 4 bits in bytes: the kernels in C and the golden model have the same bytes, and refuse the same ones."""

import numpy as np
import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.sim.codec import software
from cdma.sim.codec.headers import from_memory, to_memory
from cdma.sim.codec.model import CorruptStream, compress_words
from cdma.sim.codec.software import Kernels, compress_nibbles, decompress_nibbles
from tests.support.native import build, compiler, load

FORMATS = [
    Format(word_bits=4),
    Format(word_bits=4, window=64, code_bits=2, values=(0, 1, 15)),
    Format(word_bits=4, window=8, code_bits=3, values=(5, 0, 5)),
    Format(word_bits=4, window=16, code_bits=4, values=(0,)),
]


@pytest.fixture(params=["numpy", "C"])
def way(request, monkeypatch):
    """Which of the two does the work."""
    if request.param == "C" and compiler() is None:
        pytest.skip("there is no C compiler")
    made = {"numpy": Kernels(load(build()), "scalar")} if request.param == "C" else {}
    monkeypatch.setenv("CDMA_BACKEND", "numpy")
    monkeypatch.setattr(software, "installed", lambda: made)
    return request.param


@pytest.mark.parametrize("format", FORMATS, ids=repr)
def test_two_words_to_a_byte_and_back(way, format):
    rng = np.random.default_rng(0)
    for count in (0, 1, 7, 8, 31, 32, 33, 64, 200, 1025):
        for density in (0, 0.3, 1):
            words = np.where(rng.random(count) < density, rng.integers(0, 16, count), 0).astype(np.uint8)
            stream = compress_words(words, format)
            data = compress_nibbles(words, format)
            whole = int.from_bytes(data, "little")
            assert len(data) == (len(stream) + 1) // 2
            assert [whole >> 4 * place & 15 for place in range(len(stream))] == stream.tolist()
            assert whole >> 4 * len(stream) == 0
            assert (decompress_nibbles(data, count, format) == words).all()


def test_every_wrong_stream_is_refused(way):
    format = Format(word_bits=4, code_bits=2, values=(0, 1))
    words = np.arange(75, dtype=np.uint8) % 3
    data = compress_nibbles(words, format)
    with pytest.raises(CorruptStream, match="ends after"):
        decompress_nibbles(data[:-1], 75, format)
    with pytest.raises(CorruptStream, match="more follow"):
        decompress_nibbles(data + b"\0", 75, format)
    with pytest.raises(CorruptStream):
        decompress_nibbles(b"\2" + data[1:], 75, format)  # a code of no entry
    # One window: 16 nibbles of codes, then one word, whose byte is filled up.
    lone = compress_nibbles(np.array([7], np.uint8), format)
    assert lone[8:] == b"\7"
    with pytest.raises(CorruptStream, match="more follow"):
        decompress_nibbles(lone[:8] + b"\x17", 1, format)
    with pytest.raises(CorruptStream):
        decompress_nibbles(lone[:4] + b"\1" + lone[5:], 1, format)  # a code past the last word
    with pytest.raises(CorruptStream):
        decompress_nibbles(b"", 1 << 40, format)


def test_other_words_are_refused(way):
    for call, message in (
        (lambda: compress_nibbles([16], FORMATS[0]), "16"),
        (lambda: compress_nibbles([1], Format()), "words of 4 bits"),
        (lambda: decompress_nibbles(b"", 0, Format()), "words of 4 bits"),
    ):
        with pytest.raises(ParameterError, match=message):
            call()


@pytest.mark.parametrize(
    ("bits", "words", "data"),
    [
        (4, [1, 2, 15], "21 0f"),
        (4, [1, 2, 15, 8], "21 8f"),
        (4, [], ""),
        (8, [1, 255], "01 ff"),
        (16, [0x1234], "34 12"),
        (32, [0x12345678], "78 56 34 12"),
    ],
)
def test_the_low_word_comes_first(bits, words, data):
    array = np.array(words, f"u{max(8, bits) // 8}")
    assert to_memory(array, bits) == bytes.fromhex(data)
    assert from_memory(bytes.fromhex(data), bits)[: len(words)].tolist() == words


def test_a_word_that_is_not_whole_is_ignored():
    assert from_memory(b"\1\2\3", 16).tolist() == [0x0201]
