"""The examples of docs/format.md are true: every one is read out of the document and checked."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest

import cdma
from cdma.sim.codec.container import pack_file, read_header, unpack_file
from cdma.sim.codec.npy import Tensor
from tests.outside.codec import Form
from tests.support import reference
from tests.support.documents import blocks
from tests.support.paths import DOCS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCUMENT = DOCS / "format.md"
EXAMPLES = [tomllib.loads(text) for text in blocks(DOCUMENT, "toml")]
GOOD = [example for example in EXAMPLES if "words" in example]
CORRUPT = [example for example in EXAMPLES if "kind" in example]


def parameters_of(example):
    return {name: example[name] for name in vars(cdma.Format()) if name in example}


def is_of_fields(example):
    """Whether the reference of whole words does not know the format."""
    return "align" in example or "field_bits" in example


def test_every_example_is_checked():
    assert len(GOOD) >= 8
    assert {example["kind"] for example in CORRUPT} == {"truncated", "trailing", "code", "padding"}
    assert len(GOOD) + len(CORRUPT) == len(EXAMPLES)


@pytest.mark.parametrize("example", GOOD, ids=lambda example: example["stream"][:11])
def test_worked_example(example):
    parameters = parameters_of(example)
    format = cdma.Format(**parameters)
    words = np.array(example["words"], f"<u{format.word_bits // 8}")
    stream = bytes.fromhex(example["stream"])
    assert cdma.compress(words, format) == stream
    assert cdma.decompress(stream, len(words), format).tolist() == example["words"]
    form = Form(**vars(format))
    assert form.compress(example["words"])[0] == stream
    assert form.fault(stream, len(words)) is None
    assert form.decompress(stream, len(words), format.window)[0] == example["words"]
    if not is_of_fields(example):
        in_words = np.frombuffer(stream, words.dtype).tolist()
        assert reference.compress(example["words"], **parameters) == in_words
        assert reference.decompress(in_words, len(words), **parameters) == (example["words"], None)


@pytest.mark.parametrize("example", CORRUPT, ids=lambda example: example["kind"])
def test_corrupt_example(example):
    parameters = parameters_of(example)
    format = cdma.Format(**parameters)
    stream = bytes.fromhex(example["stream"])
    with pytest.raises(cdma.CorruptStream) as caught:
        cdma.decompress(stream, example["count"], format)
    wrong = (example["kind"], example["word"])
    assert (caught.value.kind, caught.value.word) == wrong
    if is_of_fields(example):
        assert Form(**vars(format)).fault(stream, example["count"]) == wrong
    else:
        in_words = np.frombuffer(stream, f"<u{format.word_bits // 8}").tolist()
        assert reference.decompress(in_words, example["count"], **parameters) == (None, wrong)


def test_file_example():
    (dump,) = blocks(DOCUMENT, "hexdump")
    stated = bytes.fromhex("".join(line[6:53] for line in dump.splitlines()))
    tensor = np.array([[0, 7, 0], [0, 0, 9]], np.uint8)
    made = io.BytesIO()
    raw = io.BytesIO(tensor.tobytes())
    pack_file(raw, Tensor(tensor.shape, tensor.dtype), made, cdma.Format(word_bits=8), lambda done: None)
    assert made.getvalue() == stated
    source, back = io.BytesIO(stated), io.BytesIO()
    container = read_header(source)
    unpack_file(source, container, back, lambda done: None)
    assert container.tensor.shape == tensor.shape
    assert back.getvalue() == tensor.tobytes()
