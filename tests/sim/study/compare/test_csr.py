import re
import struct

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from cdma import CorruptStream, ParameterError
from cdma.sim.study.compare.csr import CsrFormat, analyse, compress, decompress, decompress_words
from tests.support.paths import DOCS

NUMBER = {8: "B", 16: "H", 32: "I"}

DOCUMENT = DOCS / "study" / "codecs.md"


def reference(words, format):
    """Compressed sparse rows from the text of docs/study/codecs.md, one literal at a time."""
    pointers, columns, literals = [0], [], []
    for row in range(0, len(words), format.columns):
        for column, word in enumerate(words[row : row + format.columns]):
            if word:
                columns.append(column)
                literals.append(word)
        pointers.append(len(literals))
    index = struct.pack(f"<{len(columns)}{NUMBER[format.index_bits]}", *columns)
    index += bytes(-len(index) % (format.word_bits // 8))
    values = struct.pack(f"<{len(literals)}{NUMBER[format.word_bits]}", *literals)
    return struct.pack(f"<{len(pointers)}I", *pointers) + index + values


@st.composite
def cases(draw):
    format = CsrFormat(
        draw(st.sampled_from([8, 16, 32])),
        draw(st.sampled_from([1, 3, 16, 255, 256])),
        draw(st.sampled_from([8, 16, 32])),
    )
    word = st.one_of(st.just(0), st.integers(0, 2**format.word_bits - 1))
    words = draw(st.lists(word, max_size=600))
    return format, np.array(words, f"u{format.word_bits // 8}")


class TestCompress:
    @given(cases())
    def test_is_the_reference(self, case):
        format, words = case
        assert compress(words, format) == reference(words.tolist(), format)

    @given(cases())
    def test_round_trip(self, case):
        format, words = case
        data = compress(words, format)
        assert (decompress(data, len(words), format) == words).all()
        assert len(data) <= format.bound(len(words)) * format.word_bits // 8
        assert len(data) == analyse(words, format).compressed_words * format.word_bits // 8

    def test_the_example_of_the_document(self):
        tensor = np.array([5, 0, 0, 0, 0, 7], np.uint16)
        stream = compress(tensor, CsrFormat(16, columns=4)).hex(" ", 2)
        assert f"rows of 4: 5, 0, 0, 0, 0, 7 becomes `{stream}`" in DOCUMENT.read_text(encoding="utf-8")

    def test_dense_packet_reaches_the_bound(self):
        format = CsrFormat(8)
        assert len(compress(np.ones(1000, np.uint8), format)) == format.bound(1000)

    def test_of_nothing(self):
        analysis = analyse(np.zeros(0, np.float32))
        assert (analysis.literals, analysis.compressed_words) == (0, 1)
        assert len(decompress(compress(np.zeros(0, np.float32)), 0)) == 0


def packet(pointers, columns, literals):
    """A packet of 32-bit words with rows of 4 columns."""
    index = bytes(columns) + bytes(-len(columns) % 4)
    words = [*pointers, *struct.unpack(f"<{len(index) // 4}I", index), *literals]
    return np.array(words, np.uint32)


class TestCorrupt:
    format = CsrFormat(32, columns=4)

    @pytest.mark.parametrize(
        ("stream", "kind", "word", "message"),
        [
            (
                packet([0, 1], [], []),
                "truncated",
                2,
                "begins with 3 words of row pointers, but the stream has 2",
            ),
            (packet([1, 1, 1], [0], [9]), "code", 0, "stream word 0 has the row pointer 1; the first is 0"),
            (packet([0, 2, 1], [0], [9]), "code", 2, "row pointer 1; after 2 it may be up to 2 more"),
            (packet([0, 5, 5], [0] * 5, [9] * 5), "code", 1, "row pointer 5; after 0 it may be up to 4 more"),
            (packet([0, 0, 3], [0] * 3, [9] * 3), "code", 2, "row pointer 3; after 0 it may be up to 2 more"),
            (packet([0, 2, 2], [0, 1], [9]), "truncated", 5, "say 2 literals, which make 6 words of stream"),
            (packet([0, 1, 1], [0], [9, 9]), "trailing", 5, "say 1 literals, which make 5 words of stream"),
            (
                packet([0, 1, 1], [4], [9]),
                "code",
                3,
                "says column 4 for literal 0; columns rise within a row of 4",
            ),
            (packet([0, 2, 2], [2, 2], [9, 9]), "code", 3, "says column 2 for literal 1"),
            (packet([0, 2, 2], [3, 1], [9, 9]), "code", 3, "says column 1 for literal 1"),
            (
                packet([0, 0, 1], [2], [9]),
                "code",
                3,
                "says column 2 for literal 0; columns rise within a row of 2",
            ),
            (
                packet([0, 1, 1], [0, 0, 1], [9]),
                "code",
                3,
                "is not filled up with zeros after the last column",
            ),
        ],
    )
    def test_is_refused(self, stream, kind, word, message):
        with pytest.raises(CorruptStream, match=re.escape(message)) as caught:
            decompress_words(stream, 6, self.format)
        assert (caught.value.kind, caught.value.word) == (kind, word)

    def test_a_literal_zero_is_accepted(self):
        assert decompress_words(packet([0, 1, 1], [3], [0]), 6, self.format).tolist() == [0] * 6

    def test_bytes_after_the_last_word(self):
        with pytest.raises(CorruptStream, match="3 bytes after the last word"):
            decompress(compress(np.zeros(6, np.uint32), self.format) + b"abc", 6, self.format)

    @given(st.data())
    def test_garbage_ends_with_the_packet_or_an_error(self, data):
        words = np.array(data.draw(st.lists(st.integers(0, 2), min_size=6, max_size=6)), np.uint8)
        format = CsrFormat(8, columns=4)
        stream = bytearray(compress(words, format))
        place = data.draw(st.integers(0, len(stream) - 1))
        stream[place] = data.draw(st.integers(0, 255))
        try:
            assert len(decompress(bytes(stream), 6, format)) == 6
        except CorruptStream as error:
            event(error.kind)


class TestFormat:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"word_bits": 4}, "word_bits is 4; it must be one of 8, 16, 32: arrays hold whole bytes"),
            ({"index_bits": 12}, "index_bits is 12; it must be one of 8, 16, 32"),
            ({"columns": 257}, "columns is 257; with index_bits 8 a row has 1 to 256 columns"),
            ({"columns": 0}, "columns is 0; with index_bits 8"),
            ({"columns": True}, "columns is True; with index_bits 8"),
        ],
    )
    def test_is_refused(self, settings, message):
        with pytest.raises(ParameterError, match=re.escape(message)):
            CsrFormat(**settings)

    def test_words_is_a_number_of_words(self):
        with pytest.raises(
            ParameterError, match="words is -1; it must be a whole number of words, 0 or more"
        ):
            CsrFormat().bound(-1)
