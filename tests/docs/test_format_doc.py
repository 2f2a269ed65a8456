"""The examples of docs/format.md are true: every one is read out of the document and checked."""

from __future__ import annotations

import io
import re
import sys

import numpy as np
import pytest

import cdma
from cdma.sim.codec.container import pack_file, read_header, unpack_file
from cdma.sim.codec.files import Tensor
from tests.outside.codec import Form
from tests.support import reference
from tests.support.documents import blocks
from tests.support.paths import DOCS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCUMENT = DOCS / "format.md"
GOOD = [tomllib.loads(text) for text in blocks(DOCUMENT, "toml")]
#: The rows of what a decoder refuses: words, parameters in TOML or those of the first example with a field, stream, fault.
REFUSED = re.findall(
    r"^\| (\d+) \| (?:`(.*)`|(of the eight bf16 numbers)|) ?\| `([0-9a-f ]+)` \| `(\w+)` (\d+) \|",
    DOCUMENT.read_text(encoding="utf-8"),
    re.MULTILINE,
)


def format_of(example):
    return cdma.Format(**{name: example[name] for name in vars(cdma.Format()) if name in example})


def of_whole_words(format):
    """The parameters that the reference of whole words takes, or none of a format that it does not know."""
    known = format.field_bits == 0 and format.align == 1
    return (
        {name: getattr(format, name) for name in ("word_bits", "window", "code_bits", "values")}
        if known
        else {}
    )


def test_every_example_is_checked():
    assert len(GOOD) >= 8
    assert len(REFUSED) >= 7
    assert {kind for *_, kind, _ in REFUSED} == {"truncated", "trailing", "code", "padding"}


@pytest.mark.parametrize("example", GOOD, ids=lambda example: example["stream"][:11])
def test_worked_example(example):
    format = format_of(example)
    words = np.array(example["words"], f"<u{format.word_bits // 8}")
    stream = bytes.fromhex(example["stream"])
    assert cdma.compress(words, format) == stream
    assert cdma.decompress(stream, len(words), format).tolist() == example["words"]
    form = Form(**vars(format))
    assert form.compress(example["words"])[0] == stream
    assert form.fault(stream, len(words)) is None
    assert form.decompress(stream, len(words), format.window)[0] == example["words"]
    if parameters := of_whole_words(format):
        in_words = np.frombuffer(stream, words.dtype).tolist()
        assert reference.compress(example["words"], **parameters) == in_words
        assert reference.decompress(in_words, len(words), **parameters) == (example["words"], None)


@pytest.mark.parametrize(("count", "toml", "fields", "dump", "kind", "word"), REFUSED)
def test_refused_stream(count, toml, fields, dump, kind, word):
    parameters = tomllib.loads(f"given = {{{toml}}}")["given"]
    format = format_of(next(each for each in GOOD if "field_bits" in each) if fields else parameters)
    stream, wrong = bytes.fromhex(dump), (kind, int(word))
    with pytest.raises(cdma.CorruptStream) as caught:
        cdma.decompress(stream, int(count), format)
    assert (caught.value.kind, caught.value.word) == wrong
    if parameters := of_whole_words(format):
        in_words = np.frombuffer(stream, f"<u{format.word_bits // 8}").tolist()
        assert reference.decompress(in_words, int(count), **parameters) == (None, wrong)
    else:
        assert Form(**vars(format)).fault(stream, int(count)) == wrong


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
