import re
from itertools import chain

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from cdma import CorruptStream, ParameterError
from cdma.sim.study.compare.rl import (
    RunFormat,
    analyse,
    compress,
    compress_words,
    decompress,
    decompress_words,
)
from tests.support.paths import DOCS

DOCUMENT = DOCS / "study" / "codecs.md"


def reference(words, word_bits):
    """Zero run-length coding from the text of docs/study/codecs.md, one word at a time."""
    stream, place = [], 0
    while place < len(words):
        if words[place]:
            stream.append(words[place])
            place += 1
            continue
        run = 0
        while place < len(words) and not words[place] and run < 2**word_bits - 1:
            run += 1
            place += 1
        stream += [0, run]
    return stream


def packets(word_bits, size=80):
    """Words with zeros alone and in runs."""
    literal = st.integers(1, 2**word_bits - 1).map(lambda word: [word])
    run = st.integers(1, 40).map(lambda length: [0] * length)
    return st.lists(st.one_of(literal, run), max_size=size).map(lambda parts: [*chain(*parts)])


WORD_BITS = st.sampled_from([2, 4, 8, 16, 32])


@st.composite
def cases(draw):
    word_bits = draw(WORD_BITS)
    return RunFormat(word_bits), draw(packets(word_bits))


class TestCompress:
    @given(cases())
    def test_is_the_reference(self, case):
        format, words = case
        assert compress_words(words, format).tolist() == reference(words, format.word_bits)

    @given(cases())
    def test_round_trip(self, case):
        format, words = case
        stream = compress_words(words, format)
        assert decompress_words(stream, len(words), format).tolist() == words
        assert len(stream) <= format.bound(len(words))

    @pytest.mark.parametrize("run", [255, 256, 510, 511, 1000])
    def test_runs_longer_than_a_word_can_say_are_cut(self, run):
        words = [7] + [0] * run + [9]
        stream = compress_words(words, RunFormat(8))
        assert stream.tolist() == reference(words, 8)
        assert len(stream) == 2 + 2 * -(-run // 255)
        assert decompress_words(stream, len(words), RunFormat(8)).tolist() == words

    def test_lone_zeros_reach_the_bound(self):
        for words in ([0], [0, 1], [0, 1, 0], [0, 1] * 50):
            assert len(compress_words(words)) == RunFormat().bound(len(words))

    def test_the_example_of_the_document(self):
        tensor = np.array([5, 0, 0, 0, 7, 0], np.uint16)
        stream = compress(tensor, RunFormat(16)).hex(" ", 2)
        assert f"5, 0, 0, 0, 7, 0 becomes the bytes `{stream}`" in DOCUMENT.read_text(encoding="utf-8")

    @pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint32, np.float64])
    def test_tensors_by_bit_pattern(self, dtype):
        tensor = np.array([[0, -0.0, 1], [0, 0, 3]]).astype(dtype)[:, ::-1]
        bits = min(32, tensor.itemsize * 8)
        data = compress(tensor, RunFormat(bits))
        words = tensor.nbytes * 8 // bits
        back = decompress(data, words, RunFormat(bits)).view(dtype).reshape(tensor.shape)
        assert back.tobytes() == np.ascontiguousarray(tensor).tobytes()

    def test_minus_zero_is_a_literal(self):
        assert analyse(np.array([-0.0, 0.0], np.float32)).literals == 1


class TestAnalyse:
    @given(packets(8))
    def test_counts_what_compress_stores(self, words):
        array = np.array(words, np.uint8)
        analysis = analyse(array, RunFormat(8))
        assert analysis.compressed_words == len(compress(array, RunFormat(8)))
        assert analysis.literals == sum(word != 0 for word in words)

    def test_of_nothing(self):
        analysis = analyse(np.zeros(0, np.uint8), RunFormat(8))
        assert (analysis.literals, analysis.compressed_words) == (0, 0)

    def test_ratio_and_density(self):
        analysis = analyse(np.array([0, 0, 0, 0, 0, 1, 0, 0], np.uint32))
        assert (analysis.runs, analysis.compressed_words, analysis.literals) == (2, 5, 1)


class TestCorrupt:
    @pytest.mark.parametrize(
        ("stream", "words", "kind", "word", "message"),
        [
            ([], 1, "truncated", 0, "stand for 0 words of a packet of 1 words"),
            ([5, 0], 2, "truncated", 2, "ends after 2 words, which stand for 1 words of a packet of 2"),
            ([5, 0, 3], 9, "truncated", 3, "stand for 4 words of a packet of 9 words"),
            ([5, 6], 1, "trailing", 1, "complete at stream word 1, but the stream has 2 words"),
            ([0, 4, 1], 4, "trailing", 2, "complete at stream word 2, but the stream has 3 words"),
            ([1], 0, "trailing", 0, "complete at stream word 0, but the stream has 1 words"),
            ([5, 0, 0], 3, "code", 2, "stream word 2 says a run of 0 zeros; a run has at least 1"),
            ([0, 0, 4], 4, "code", 1, "stream word 1 says a run of 0 zeros"),
            ([5, 0, 9], 4, "code", 2, "says a run of 9 zeros, but only 3 words are left of the packet of 4"),
            ([0, 2**32 - 1], 4, "code", 1, "says a run of 4294967295 zeros, but only 4 words are left"),
        ],
    )
    def test_is_refused(self, stream, words, kind, word, message):
        with pytest.raises(CorruptStream, match=re.escape(message)) as caught:
            decompress_words(np.array(stream, np.uint32), words)
        assert (caught.value.kind, caught.value.word) == (kind, word)

    def test_the_first_error_counts(self):
        # The packet is complete before the run of no zeros is reached.
        with pytest.raises(CorruptStream) as caught:
            decompress_words([1, 2, 0, 0], 2)
        assert caught.value.kind == "trailing"

    def test_half_a_word_at_the_end(self):
        with pytest.raises(CorruptStream, match="1 bytes after the last word"):
            decompress(b"\1\0\0", 1, RunFormat(16))

    def test_neighbouring_runs_are_accepted(self):
        assert decompress_words([0, 1, 0, 2, 4], 4).tolist() == [0, 0, 0, 4]

    @given(st.lists(st.integers(0, 6), max_size=30), st.integers(0, 40))
    def test_garbage_ends_with_the_packet_or_an_error(self, stream, words):
        try:
            result = decompress_words(stream, words, RunFormat(8))
        except CorruptStream as error:
            event(error.kind)
        else:
            assert len(result) == words
            assert compress_words(result, RunFormat(8)).size <= len(stream)


class TestFormat:
    @pytest.mark.parametrize("word_bits", [0, 12, 64, "8", True])
    def test_word_bits(self, word_bits):
        with pytest.raises(ParameterError, match=rf"word_bits is {word_bits!r}; it must be one of 2, 4"):
            RunFormat(word_bits)

    @pytest.mark.parametrize("words", [-1, 1.5, True])
    def test_number_of_words(self, words):
        with pytest.raises(
            ParameterError, match=r"words is .*; it must be a whole number of words, 0 or more"
        ):
            decompress_words([], words)
