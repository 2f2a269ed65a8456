"""Run lengths and compressed sparse rows: as docs/study/codecs.md has them, word for word, what they refuse, and the same of
PyTorch's operations."""

from __future__ import annotations

import struct
from itertools import chain

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from cdma import CorruptStream
from cdma.gpu.peers import codecs
from tests.support.paths import DOCS

DOCUMENT = DOCS / "study" / "codecs.md"
MODELS = {"rl": (codecs.runs_of, codecs.words_of_runs), "csr": (codecs.rows_of, codecs.words_of_rows)}


def run_lengths(words):
    """Zero run-length coding from the text of docs/study/codecs.md, one word at a time."""
    stream, place = [], 0
    while place < len(words):
        run = 0
        while place < len(words) and not words[place] and run < 2 ** (8 * words.itemsize) - 1:
            run, place = run + 1, place + 1
        if run:
            stream += [0, run]
        else:
            stream.append(words[place])
            place += 1
    return np.array(stream, words.dtype).tobytes()


def sparse_rows(words):
    """Compressed sparse rows from the text of docs/study/codecs.md, one literal at a time."""
    pointers, columns, literals = [0], [], []
    for row in range(0, len(words), 256):
        for column, word in enumerate(words[row : row + 256]):
            if word:
                columns.append(column)
                literals.append(word)
        pointers.append(len(literals))
    index = bytes(columns) + bytes(-len(columns) % words.itemsize)
    return struct.pack(f"<{len(pointers)}I", *pointers) + index + np.array(literals, words.dtype).tobytes()


REFERENCES = {"rl": run_lengths, "csr": sparse_rows}


@st.composite
def packets(draw):
    """Words with zeros alone and in runs."""
    bits = draw(st.sampled_from([8, 16, 32]))
    literal = st.integers(1, 2**bits - 1).map(lambda word: [word])
    run = st.integers(1, 300).map(lambda length: [0] * length)
    return np.array([*chain(*draw(st.lists(st.one_of(literal, run), max_size=80)))], f"u{bits // 8}")


each_model = pytest.mark.parametrize("name", MODELS)


@each_model
@given(words=packets())
def test_streams_are_those_of_the_reference(name, words):
    there, back = MODELS[name]
    stream = there(words)
    assert stream.tobytes() == REFERENCES[name](words)
    assert back(stream, len(words)).tolist() == words.tolist()


@each_model
@given(words=packets(), data=st.data())
def test_garbage_ends_with_the_packet_or_an_error(name, words, data):
    there, back = MODELS[name]
    stream = there(words).copy()
    if len(stream):
        stream[data.draw(st.integers(0, len(stream) - 1))] = data.draw(st.integers(0, 3))
    stream = stream[: data.draw(st.integers(0, len(stream)))]
    try:
        result = back(stream, len(words))
    except CorruptStream as error:
        event(error.kind)
    else:
        assert len(result) == len(words)


@each_model
@given(words=packets())
def test_operations_of_pytorch_make_the_same_bytes_and_words(name, words):
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton")
    from cdma.torch.bench.card_bench import CODERS

    words = words.astype(np.uint32)
    (there, back), own = CODERS[name], torch.from_numpy(words.view("i4").copy())
    stream = there(own)
    assert b"".join(part.numpy().tobytes() for part in stream) == MODELS[name][0](words).tobytes()
    assert torch.equal(back(stream, len(words)), own)


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("rl", [5, 0, 0, 0, 7, 0], "5, 0, 0, 0, 7, 0 becomes the bytes `{}`"),
        ("csr", [5, 0, 0, 0, 0, 7], "5, 0, 0, 0, 0, 7 becomes `{}`"),
    ],
)
def test_the_example_of_the_document(name, words, said):
    stream = MODELS[name][0](np.array(words, np.uint16)).tobytes().hex(" ", 2)
    assert said.format(stream) in DOCUMENT.read_text(encoding="utf-8")


def rows(pointers, columns, literals):
    """A packet of 32-bit words."""
    index = bytes(columns) + bytes(-len(columns) % 4)
    return [*pointers, *struct.unpack(f"<{len(index) // 4}I", index), *literals]


@pytest.mark.parametrize(
    ("name", "stream", "words", "kind"),
    [
        ("rl", [], 1, "truncated"),
        ("rl", [5, 0], 2, "truncated"),
        ("rl", [5, 0, 3], 9, "truncated"),
        ("rl", [5, 6], 1, "trailing"),
        ("rl", [0, 4, 1], 4, "trailing"),
        ("rl", [5, 0, 0], 3, "code"),
        ("rl", [5, 0, 9], 4, "trailing"),
        ("csr", rows([0, 1], [], []), 300, "truncated"),
        ("csr", rows([1, 1, 1], [0], [9]), 300, "code"),
        ("csr", rows([0, 2, 1], [0], [9]), 300, "code"),
        ("csr", rows([0, 0, 45], [*range(45)], [9] * 45), 300, "code"),
        ("csr", rows([0, 2, 2], [0, 1], [9]), 300, "trailing"),
        ("csr", rows([0, 1, 1], [0], [9, 9]), 300, "truncated"),
        ("csr", rows([0, 2, 2], [2, 2], [9, 9]), 300, "code"),
        ("csr", rows([0, 0, 1], [44], [9]), 300, "code"),
        ("csr", rows([0, 1, 1], [0, 0, 1], [9]), 300, "code"),
    ],
)
def test_streams_that_are_refused(name, stream, words, kind):
    with pytest.raises(CorruptStream) as caught:
        MODELS[name][1](np.array(stream, np.uint32), words)
    assert caught.value.kind == kind


def test_streams_that_no_compressor_writes_are_accepted():
    assert codecs.words_of_runs(np.array([0, 1, 0, 2, 4], np.uint32), 4).tolist() == [0, 0, 0, 4]
    literal_zero = np.array(rows([0, 1], [3], [0]), np.uint32)
    assert codecs.words_of_rows(literal_zero, 6).tolist() == [0] * 6
