"""Run lengths and compressed sparse rows: as docs/study/codecs.md has them, word for word, and what they refuse."""

from __future__ import annotations

import re
import struct
from itertools import chain

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from cdma import CorruptStream, ParameterError
from cdma.gpu.peers import csr, rl
from cdma.gpu.peers.csr import CsrFormat
from cdma.gpu.peers.rl import RunFormat
from cdma.sim.codec.words import words_from_bytes, words_to_bytes
from tests.support.paths import DOCS

DOCUMENT = DOCS / "study" / "codecs.md"
NUMBER = {8: "B", 16: "H", 32: "I"}


def run_lengths(words, format):
    """Zero run-length coding from the text of docs/study/codecs.md, one word at a time."""
    stream, place = [], 0
    while place < len(words):
        run = 0
        while place < len(words) and not words[place] and run < 2**format.word_bits - 1:
            run, place = run + 1, place + 1
        if run:
            stream += [0, run]
        else:
            stream.append(words[place])
            place += 1
    return stream


def sparse_rows(words, format):
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
    data = struct.pack(f"<{len(pointers)}I", *pointers) + index
    return [*words_from_bytes(data, format).tolist(), *literals]


RUN_FORMATS = st.builds(RunFormat, st.sampled_from([2, 4, 8, 16, 32]))
ROW_FORMATS = st.builds(
    CsrFormat,
    st.sampled_from([8, 16, 32]),
    st.sampled_from([1, 3, 16, 255, 256]),
    st.sampled_from([8, 16, 32]),
)
MODELS = st.one_of(
    st.tuples(st.just(rl), RUN_FORMATS, st.just(run_lengths)),
    st.tuples(st.just(csr), ROW_FORMATS, st.just(sparse_rows)),
)


@st.composite
def cases(draw):
    """A model, a format of it, its reference and a packet with zeros alone and in runs."""
    model, format, reference = draw(MODELS)
    literal = st.integers(1, 2**format.word_bits - 1).map(lambda word: [word])
    run = st.integers(1, 40).map(lambda length: [0] * length)
    return model, format, reference, [*chain(*draw(st.lists(st.one_of(literal, run), max_size=80)))]


@given(cases())
def test_streams_are_those_of_the_reference(case):
    model, format, reference, words = case
    stream = model.compress_words(words, format)
    assert stream.tolist() == reference(words, format)
    assert model.decompress_words(stream, len(words), format).tolist() == words
    array = model.decompress_words(stream, len(words), format)
    assert len(stream) == model.compressed_words(array, format) <= format.bound(len(words))


@given(cases(), st.data())
def test_garbage_ends_with_the_packet_or_an_error(case, data):
    model, format, _, words = case
    stream = model.compress_words(words, format).copy()
    if len(stream):
        stream[data.draw(st.integers(0, len(stream) - 1))] = data.draw(st.integers(0, 3))
    try:
        result = model.decompress_words(stream, len(words), format)
    except CorruptStream as error:
        event(error.kind)
    else:
        assert len(result) == len(words)
        assert model is csr or len(model.compress_words(result, format)) <= len(stream)


def test_runs_longer_than_a_word_can_say_are_cut():
    for run in (255, 256, 510, 511, 1000):
        words = [7] + [0] * run + [9]
        stream = rl.compress_words(words, RunFormat(8))
        assert stream.tolist() == run_lengths(words, RunFormat(8))
        assert len(stream) == 2 + 2 * -(-run // 255)
        assert rl.decompress_words(stream, len(words), RunFormat(8)).tolist() == words


def test_the_worst_packets_reach_the_bound():
    for words in ([0], [0, 1], [0, 1, 0], [0, 1] * 50):
        assert len(rl.compress_words(words, RunFormat())) == RunFormat().bound(len(words))
    assert len(csr.compress_words([1] * 1000, CsrFormat(8))) == CsrFormat(8).bound(1000)


@pytest.mark.parametrize(
    ("model", "format", "words", "said"),
    [
        (rl, RunFormat(16), [5, 0, 0, 0, 7, 0], "5, 0, 0, 0, 7, 0 becomes the bytes `{}`"),
        (csr, CsrFormat(16, columns=4), [5, 0, 0, 0, 0, 7], "rows of 4: 5, 0, 0, 0, 0, 7 becomes `{}`"),
    ],
)
def test_the_example_of_the_document(model, format, words, said):
    stream = words_to_bytes(model.compress_words(words, format)).hex(" ", 2)
    assert said.format(stream) in DOCUMENT.read_text(encoding="utf-8")


def packet(pointers, columns, literals):
    """A packet of 32-bit words with rows of 4 columns."""
    index = bytes(columns) + bytes(-len(columns) % 4)
    words = [*pointers, *struct.unpack(f"<{len(index) // 4}I", index), *literals]
    return np.array(words, np.uint32)


def runs(*words):
    return np.array(words, np.uint32)


ROWS = CsrFormat(32, columns=4)


@pytest.mark.parametrize(
    ("stream", "words", "kind", "word", "message"),
    [
        (runs(), 1, "truncated", 0, "stand for 0 words"),
        (runs(5, 0), 2, "truncated", 2, "ends after 2 words, which stand for 1"),
        (runs(5, 0, 3), 9, "truncated", 3, "stand for 4 words"),
        (runs(5, 6), 1, "trailing", 1, "complete at stream word 1"),
        (runs(0, 4, 1), 4, "trailing", 2, "complete at stream word 2"),
        (runs(1, 2, 0, 0), 2, "trailing", 2, "complete at stream word 2"),
        (runs(5, 0, 0), 3, "code", 2, "a run of 0 zeros"),
        (runs(5, 0, 9), 4, "code", 2, "a run of 9 zeros, but only 3 words are left"),
        (packet([0, 1], [], []), ROWS, "truncated", 2, "begins with 3 words of row pointers"),
        (packet([1, 1, 1], [0], [9]), ROWS, "code", 0, "row pointer 1; the first is 0"),
        (packet([0, 2, 1], [0], [9]), ROWS, "code", 2, "row pointer 1; after 2"),
        (packet([0, 5, 5], [0] * 5, [9] * 5), ROWS, "code", 1, "after 0 it may be up to 4 more"),
        (packet([0, 0, 3], [0] * 3, [9] * 3), ROWS, "code", 2, "after 0 it may be up to 2 more"),
        (packet([0, 2, 2], [0, 1], [9]), ROWS, "truncated", 5, "make 6 words of stream"),
        (packet([0, 1, 1], [0], [9, 9]), ROWS, "trailing", 5, "make 5 words of stream"),
        (packet([0, 1, 1], [4], [9]), ROWS, "code", 3, "column 4 for literal 0; columns rise within a row"),
        (packet([0, 2, 2], [2, 2], [9, 9]), ROWS, "code", 3, "column 2 for literal 1"),
        (packet([0, 0, 1], [2], [9]), ROWS, "code", 3, "columns rise within a row of 2"),
        (packet([0, 1, 1], [0, 0, 1], [9]), ROWS, "code", 3, "is not filled up with zeros"),
    ],
)
def test_streams_that_are_refused(stream, words, kind, word, message):
    """Of runs with the words that they are to stand for, and of rows with six."""
    model, *asked = (csr, 6, ROWS) if words is ROWS else (rl, words)
    with pytest.raises(CorruptStream, match=re.escape(message)) as caught:
        model.decompress_words(stream, *asked)
    assert (caught.value.kind, caught.value.word) == (kind, word)


def test_streams_that_no_compressor_writes_are_accepted():
    assert rl.decompress_words([0, 1, 0, 2, 4], 4).tolist() == [0, 0, 0, 4], "neighbouring runs"
    literal_zero = packet([0, 1, 1], [3], [0])
    assert csr.decompress_words(literal_zero, 6, ROWS).tolist() == [0] * 6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RunFormat(12), "word_bits is 12; it must be"),
        (lambda: RunFormat(True), "word_bits is True; it must be"),
        (lambda: CsrFormat(word_bits=4), "word_bits is 4; it must be one of 8, 16, 32"),
        (lambda: CsrFormat(index_bits=12), "index_bits is 12; it must be one of 8, 16, 32"),
        (lambda: CsrFormat(columns=0), "columns is 0; with index_bits 8"),
        (lambda: CsrFormat(columns=257), "columns is 257; with index_bits 8"),
        (lambda: rl.decompress_words([], -1), "words is -1"),
        (lambda: rl.decompress_words([], 1.5), "words is 1.5"),
        (lambda: CsrFormat().bound(-1), "words is -1; it must be a whole number of words"),
    ],
)
def test_formats_and_sizes_that_are_refused(make, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        make()
