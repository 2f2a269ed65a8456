"""The windows of a stream are found one by one, and with them where each word is, in every kind of format."""

from __future__ import annotations

import numpy as np
import pytest

from cdma.hdl.spec.format import Format
from cdma.sim.codec.model import compress_words, model_of, places_of, windows_of
from cdma.sim.codec.words import Words, word_dtype

FORMATS = {
    "plain": Format(),
    "table": Format(word_bits=16, code_bits=2, values=(0, 7)),
    "aligned": Format(align=4, word_bits=8),
    "long window": Format(window=64),
    "fields": Format(word_bits=16, code_bits=2, values=(0, 63), field_bits=8, rotate=1, zero=True),
}


def some_words(form: Format, count: int) -> Words:
    rng = np.random.default_rng(3)
    words = rng.integers(1, 1 << form.word_bits, count).astype(word_dtype(form))
    return np.where(rng.random(count) < 0.6, np.zeros_like(words), words)


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("count", [1, 31, 32, 100, 200])
def test_windows_follow_each_other_to_the_end(form: Format, count: int) -> None:
    words = some_words(form, count)
    stream = compress_words(words, form)
    windows = list(windows_of(stream, count, form))
    assert [window.first for window in windows] == list(range(0, count, form.window))
    assert sum(window.words for window in windows) == count
    assert [window.start for window in windows[1:]] == [window.end for window in windows[:-1]]
    assert windows[-1].end == len(stream)
    sizes = model_of(form).stream_words_of_each(words, form)
    for window in windows:
        assert window.stored == sizes[window.first : window.first + window.words].sum()


@pytest.mark.parametrize("form", [form for form in FORMATS.values() if not form.field_bits])
def test_a_literal_is_where_it_is_said_to_be_and_the_others_with_their_header(form: Format) -> None:
    words = some_words(form, 100)
    stream = compress_words(words, form)
    places = places_of(words, stream, form)
    stored = model_of(form).stored(words, form)
    assert (stream[places[stored]] == words[stored]).all()
    for window in windows_of(stream, len(words), form):
        here = slice(window.first, window.first + window.words)
        assert set(places[here][~stored[here]]) <= {window.start + window.header - 1}


def test_a_stream_that_ends_too_early_has_no_place_for_the_words_that_it_lacks() -> None:
    form = Format()
    words = np.arange(1, 65, dtype=np.uint32)
    stream = compress_words(words, form)[:40]
    *_, last = windows_of(stream, len(words), form)
    assert (last.start, last.stored, last.end) == (33, 6, 40)
    places = places_of(words, stream, form)
    assert (places[38:] == -1).all()
    assert (stream[places[:38]] == words[:38]).all()
