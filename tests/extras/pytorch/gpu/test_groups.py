"""Two levels, and bases, on a GPU: streams, words and verdicts are those of the host."""

from __future__ import annotations

import numpy as np
import pytest

from tests.extras.pytorch.interpreted import Waits, torch

# isort: split
import cdma
from cdma import gpu
from cdma.gpu import decoder, door, groups
from cdma.gpu.operators import text_of
from cdma.sim.codec import model, software
from cdma.sim.codec.fit import fit as fit_on_host
from cdma.sim.codec.stimuli import damaged, draw
from cdma.sim.codec.words import word_dtype

TWO = cdma.Format(16, levels=2)
_FIELD = {"code_bits": 3, "field_bits": 8, "rotate": 1, "zero": True, "values": (127, 126)}
FORMATS = {
    "8 bits": cdma.Format(8, levels=2, group=16, values=(7,), align=4),
    "16 bits": TWO,
    "32 bits": cdma.Format(32, window=64, levels=2, group=64),
    "codes": cdma.Format(16, code_bits=2, values=(3, 9), levels=2, group=16),
    "a field": cdma.Format(16, **_FIELD, levels=2, group=8, align=4),
    "a wide field": cdma.Format(32, **_FIELD, levels=2),
}


@pytest.fixture(autouse=True)
def _on_card(monkeypatch):
    """Takes every tensor for one on a GPU. What is right must not need the model, which would hide a wrong kernel."""
    monkeypatch.setattr(door, "takes", lambda array: isinstance(array, torch.Tensor))
    monkeypatch.setattr(decoder, "by_model", lambda *_: pytest.fail("the kernels refuse a good stream"))
    # Fewer programs, which the interpreter takes longest for.
    monkeypatch.setattr(groups, "_JUMPS", 1024)


def some(format, count, density, seed=1):
    """Words of which so many are not code 0, and the words of a base."""
    rng = np.random.default_rng(seed)
    words, base = (rng.integers(0, 1 << format.word_bits, count).astype(word_dtype(format)) for _ in range(2))
    words[rng.random(count) >= density] = 0 if format.zero else format.values[0]
    return words, base


def there_and_back(format, words, base=None):
    expected = software.compress(words, format, base=base)
    other = None if base is None else torch.from_numpy(base)
    stream = cdma.compress(torch.from_numpy(words), format, base=other)
    assert stream.numpy().tobytes() == expected
    if len(words):
        back = cdma.decompress(stream, len(words), format, base=other)
        assert np.array_equal(back.numpy(), words)


@pytest.mark.parametrize("density", [0, 0.003, 0.01, 0.1])
@pytest.mark.parametrize("name", FORMATS)
def test_streams_are_those_of_the_host(name, density):
    format = FORMATS[name]
    there_and_back(format, some(format, 2 * format.group_words + 5, density)[0])


@pytest.mark.parametrize("name", FORMATS)
def test_sizes_around_windows_and_groups(name):
    format = FORMATS[name]
    for around in (1, format.window, format.group_words):
        for count in (around - 1, around, around + 1):
            there_and_back(format, some(format, count, 4 / (count + 1))[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_words_without_an_absent_window(name):
    format = FORMATS[name]
    there_and_back(format, some(format, format.group_words + 3 * format.window + 1, 1)[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["8 bits", "16 bits"])
def test_several_blocks(name):
    format = FORMATS[name]
    there_and_back(format, *some(format, 40_000 * 8 // format.word_bits + 3, 0.01))


@pytest.mark.parametrize("chunk", [1, 20, 100])
def test_groups_that_begin_before_positions_and_end_behind_them(chunk, monkeypatch):
    monkeypatch.setattr(groups, "_CHUNK", chunk)
    format = FORMATS["8 bits"]
    there_and_back(format, some(format, 6 * format.group_words - 3, 0.004)[0])


@pytest.mark.parametrize("format", [*FORMATS.values(), cdma.Format(8), cdma.Format.preset("bf16")], ids=str)
def test_a_base(format):
    changed, base = some(format, 3 * format.window + 5, 0.05)
    words = changed ^ base
    there_and_back(format, words, base)
    tensor, other = torch.from_numpy(words), torch.from_numpy(base)
    assert cdma.analyse(tensor, format, base=other) == model.analyse(words, format, base=base)
    out = torch.zeros(format.bound_bytes(len(words)), dtype=torch.uint8)
    stream = cdma.compress(tensor, format, base=other, out=out)
    assert stream.data_ptr() == out.data_ptr()
    # The words take the place of the base.
    back = cdma.decompress(stream, len(words), format, base=other, out=other)
    assert back.data_ptr() == other.data_ptr()
    assert np.array_equal(base, words)


def test_types_and_a_base_that_begins_anywhere():
    old = torch.arange(100, dtype=torch.float32).to(torch.bfloat16)
    new = old.clone()
    new[7] = -3
    for base in (old, torch.cat([old[:1], old])[1:], old.repeat_interleave(2)[::2]):
        stream = cdma.compress(new, TWO, base=base)
        assert stream.numel() == 4 + 4 + 2
        assert torch.equal(cdma.decompress(stream, 100, TWO, base=base).view(torch.bfloat16), new)


@pytest.mark.parametrize("name", ["16 bits", "codes", "a field"])
def test_an_analysis_and_a_fit_are_those_of_the_host(name):
    format = FORMATS[name]
    for density in (0.003, 0.9):
        words, base = some(format, 2 * format.group_words, density)
        tensor = torch.from_numpy(words)
        assert cdma.analyse(tensor, format) == model.analyse(words, format)
        fitted = fit_on_host(words ^ base, format, base=base)
        assert cdma.fit(torch.from_numpy(words ^ base), format, base=torch.from_numpy(base)) == fitted
    assert fitted.levels == 1


def test_a_stream_waits_for_the_card_once():
    tensor = torch.arange(50, dtype=torch.int16)
    with Waits() as seen:
        stream = cdma.compress(tensor, TWO)
    assert seen.count == 1
    with Waits() as seen:
        cdma.decompress(stream, 50, TWO)
    assert seen.count == 2


def verdict(decode, data, words, format):
    """The words, or what is wrong."""
    try:
        return decode(data, words, format).tolist()
    except cdma.CorruptStream as error:
        return error.kind, error.word, str(error)


def same_verdict(format, data, words, monkeypatch):
    """What the host says; the kernels must have taken what it takes."""
    expected = verdict(model.decompress, data, words, format)
    tensor = torch.frombuffer(bytearray(data) or bytearray(1), dtype=torch.uint8)[: len(data)]
    if isinstance(expected, tuple) or not words:
        monkeypatch.undo()
        monkeypatch.setattr(door, "takes", lambda array: isinstance(array, torch.Tensor))
    assert verdict(cdma.decompress, tensor, words, format) == expected
    return expected


_SMALL = cdma.Format(8, window=8, levels=2, group=8)


@pytest.mark.parametrize(
    ("format", "words", "stream", "kind", "word"),
    [
        (_SMALL, 8, "02 82 05 07", "code", 0),
        (_SMALL, 16, "02 82 05", "truncated", 3),
        (_SMALL, 16, "02 82 05 07 00", "trailing", 4),
        (_SMALL, 16, "02", "truncated", 1),
        (_SMALL, 72, "00", "truncated", 1),
        (_SMALL, 0, "00", "trailing", 0),
        (_SMALL, 1, "", "truncated", 0),
        (_SMALL, 9, "02 80 07", "code", 1),
        (TWO, 40, "04 00 00 00", "code", 0),
        (TWO, 40, "00 00 00 00 00", "trailing", 2),
        (FORMATS["codes"], 32, "0100 0000 0800 0000 0000", "code", 2),
        (cdma.Format(8, window=8, align=2, levels=2, group=8), 8, "00 01", "padding", 1),
        (cdma.Format(8, window=8, align=2, levels=2, group=8), 8, "01 00 03 05 06 07", "padding", 5),
        (cdma.Format(8, window=8, align=4, levels=2, group=8), 8, "01 00 00", "truncated", 3),
    ],
)
def test_the_kernels_refuse(format, words, stream, kind, word, monkeypatch):
    assert same_verdict(format, bytes.fromhex(stream), words, monkeypatch)[:2] == (kind, word)


def test_a_window_without_literals_is_accepted(monkeypatch):
    assert same_verdict(_SMALL, bytes.fromhex("03 00 01 09"), 16, monkeypatch)[8:10] == [9, 0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(15))
def test_damaged_streams_have_the_verdicts_of_the_host(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    shapes = [(8, 8, 1, 0, 1), (8, 8, 2, 0, 4), (16, 16, 3, 8, 1), (16, 8, 2, 0, 8), (32, 32, 1, 0, 1)]
    format, words = draw(rng, shapes[seed % len(shapes)], levels=2)
    data, count = damaged(rng, software.compress(words, format)), len(words)
    if rng.random() < 0.2:
        count = int(rng.integers(0, 2 * count + 2))
    same_verdict(format, data, count, monkeypatch)


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda t: gpu.compress(t, TWO), "levels is 2; it must be 1 for cdma.gpu"),
        (lambda t: gpu.compress_many([t], TWO), "levels is 2; it must be 1 for cdma.gpu"),
        (lambda t: text_of(TWO), "levels is 2; it must be 1 for cdma.gpu"),
        (lambda t: cdma.compress(t, TWO, base=t[1:]), "the base has 39 words; it must have 40"),
        (lambda t: cdma.compress(t, TWO, base=t.to("meta")), "the base is on meta and the tensor on cpu"),
        (lambda t: cdma.compress(t, TWO, base=t.numpy()), "the base is ndarray"),
        (lambda t: cdma.compress(t.numpy(), TWO, base=t), "the tensor is ndarray"),
        (lambda t: cdma.compress(t, TWO, base=t.view(torch.int8)), "base is no tensor for this format"),
        (lambda t: cdma.compress(t, TWO, out=torch.zeros(80, dtype=torch.uint8)), "out has 80 bytes"),
        (lambda t: into_its_base(t), "out is a part of the base; it must be another tensor"),
        (
            lambda t: cdma.decompress(cdma.compress(t, TWO), 40, TWO, base=twice(t)[:40], out=twice(t)[8:48]),
            "out is a part of the base; it must be all of it",
        ),
    ],
)
def test_refusals(use, says):
    _both.clear()
    with pytest.raises(cdma.ParameterError, match=says):
        use(torch.arange(40, dtype=torch.int16))


_both = []


def twice(tensor):
    """The same tensor again."""
    if not _both:
        _both.append(torch.cat([tensor, tensor]))
    return _both[0]


def into_its_base(tensor):
    base = torch.zeros(400, dtype=torch.uint8)
    return cdma.compress(tensor, TWO, base=base[:80].view(torch.int16), out=base)
