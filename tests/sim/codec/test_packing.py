"""The cycles of a compressor by the depth of its queue, and of a decompressor that stores one beat: bounds, and data.
Words of 4 bits in bytes: the kernels in C and the golden model have the same bytes, and refuse the same ones. Cutting
a stream into the streams of pieces: each is what its words alone are compressed to. The windows of a stream are found
one by one, and with them where each word is, in every kind of format.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.base.errors import ParameterError
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec import software
from cdma.sim.codec.headers import from_memory, packing_cycles, shared_cycles, to_memory, worst_windows
from cdma.sim.codec.model import CorruptStream, compress_words, model_of, places_of, windows_of
from cdma.sim.codec.number_types import LAYOUTS, arrange, convert
from cdma.sim.codec.software import Kernels, compress_nibbles, decompress_nibbles
from cdma.sim.codec.unpacking import unpacking_cycles, worst_streams
from cdma.sim.codec.words import Words, word_dtype
from cdma.study.recorded import recorded_samples
from cdma.verif.stream.codec import stimulus
from tests.support.codec_bench import CONFIGS, random_words
from tests.support.native import build, compiler, load
from tests.support.stimuli import packet_shape
from tests.support.stream_pieces import split_packet

STANDARD = CodecConfig()
PACKING_CONFIGS = [
    STANDARD,
    CodecConfig(Format(16, 32), 16),
    CodecConfig(Format(8, 32), 32),
    CodecConfig(Format(8, 64, 4, (0, 1)), 8),
    CodecConfig(Format(8, 64), 4),
    CodecConfig(Format.preset("bf16"), 16),
    CodecConfig(Format.preset("fp32"), 2),
    CodecConfig(Format(32, 32, 3), 2),
    CodecConfig(Format.preset("aie-ml"), 8),
    CodecConfig(Format(16, 64, align=8), 4),
]


@pytest.mark.parametrize("config", PACKING_CONFIGS, ids=lambda config: config.summary())
@given(seed=st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_bound_of_each_depth(config: CodecConfig, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = packet_shape(rng, config, periodic=bool(seed % 2))
    windows = -(-len(shape) // config.format.window)
    if config.format.field_bits:
        # Any of the other words may have a frequent field, in turn or at random.
        frequent = (
            rng.random(len(shape)) < rng.choice([0.0, 0.3, 1.0])
            if seed % 3
            else np.arange(len(shape)) % 3 == 0
        )
        outside = config.format.parts - config.format.field_bits // 8
        shape = np.where(shape, config.format.parts, np.where(frequent, outside, 0))
    least = shared_cycles(shape, config)
    without = packing_cycles(shape, replace(config, queue=0))
    assert without == packing_cycles(shape, replace(config, queue=1))
    assert without <= least + windows + 2
    if config.format.header_words == 1:
        assert without <= least + windows / 2 + 2
    # Two of the cycles are those of the queue itself.
    assert packing_cycles(shape, config) <= least + 4


def test_costly_windows_are_the_worst() -> None:
    """Of all windows none costs more than those that the bench sends: 9 cycles where the contract has 8.125."""
    without = replace(STANDARD, queue=0)
    for shape in (worst_windows(STANDARD, 500), np.tile(stimulus.costly(STANDARD), 500)):
        assert packing_cycles(shape, without) / shared_cycles(shape, STANDARD) == pytest.approx(
            9 / 8.125, abs=0.001
        )


@pytest.mark.parametrize("config", PACKING_CONFIGS[:5], ids=lambda config: config.summary())
@given(seed=st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_a_window_costs_at_most_a_cycle_more(config: CodecConfig, seed: int) -> None:
    shape = packet_shape(np.random.default_rng(seed), config, periodic=bool(seed % 2))
    windows = -(-len(shape) // config.format.window)
    config = replace(config, queue=0)
    assert unpacking_cycles(shape, config) <= shared_cycles(shape, config) + windows + 2


@pytest.mark.slow
def test_no_windows_cost_a_decompressor_more() -> None:
    """9 cycles where the contract has 8.125."""
    config = replace(STANDARD, queue=0)
    worst = worst_streams(config, 200)
    assert unpacking_cycles(worst, config) / shared_cycles(worst, config) == pytest.approx(
        9 / 8.125, abs=0.005
    )
    lane, dense = np.arange(config.lanes), np.ones(config.format.window, bool)
    # Beats with a word, all words and all but one.
    for counts in itertools.product((1, 7, 8), repeat=config.beats):
        window = np.concatenate([lane < count for count in counts])
        for second in (dense, window[::-1]):
            pairs = np.tile(np.concatenate([window, second]), 16)
            assert unpacking_cycles(pairs, config) <= 9 / 8.125 * shared_cycles(pairs, config) + 2


@pytest.mark.parametrize("number_type", ["float32", "float16", "int8"])
def test_activations_reach_99_percent_without_a_queue_and_with_one_stored_beat(number_type: str) -> None:
    word_bits = convert(np.zeros((1, 1), np.float32), number_type).itemsize * 8
    config = CodecConfig(Format(word_bits), 256 // word_bits, queue=0)
    packing = unpacking = least = 0.0
    for tensor in recorded_samples().values():
        for layout in LAYOUTS:
            stored = arrange(convert(tensor, number_type), layout).ravel() != 0
            packing += packing_cycles(stored, config)
            unpacking += unpacking_cycles(stored, config)
            least += shared_cycles(stored, config)
    assert least / packing >= 0.99
    assert least / unpacking >= 0.99


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


_CONFIGS = [
    *CONFIGS,
    CodecConfig(Format(16, 32, 2, (0x3F,), field_bits=8, rotate=1, zero=True, align=8), 8),
    CodecConfig(Format(8, 64, 1, align=4), 8),
]


@pytest.mark.parametrize("config", _CONFIGS, ids=lambda config: config.summary())
def test_pieces_are_what_their_words_compress_to(config: CodecConfig) -> None:
    source = random.Random(config.summary())
    window = config.format.window
    for density in (0.0, 0.4, 1.0):
        pieces = [source.randint(1, 3) * window for _ in range(4)] + [source.randint(1, window)]
        words = np.array(random_words(source, config, sum(pieces), density), np.uint32)
        parts = [
            compress_words(part, config.format).tolist() for part in np.split(words, np.cumsum(pieces[:-1]))
        ]
        stream = [word for part in parts for word in part]
        assert [part.tolist() for part in split_packet(stream, pieces, config.format)] == parts
        assert split_packet([*stream, 1, 0], pieces, config.format)[-1].tolist() == [*parts[-1], 1, 0]
        for cut in (0, 1, source.randrange(len(stream)), len(stream) - 1):
            short = split_packet(stream[:cut], pieces, config.format)
            assert [word for part in short for word in part.tolist()] == stream[:cut]
            assert all(len(part) in (0, len(want)) for part, want in _but_one(short, parts))


def _but_one(short: list, parts: list) -> list:
    """All pairs without the first whose stream is cut."""
    pairs = list(zip(short, parts, strict=True))
    cut = next((place for place, (part, want) in enumerate(pairs) if len(part) < len(want)), None)
    return pairs if cut is None else pairs[:cut] + pairs[cut + 1 :]


WINDOWS_FORMATS = {
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


@pytest.mark.parametrize("form", WINDOWS_FORMATS.values(), ids=WINDOWS_FORMATS)
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


@pytest.mark.parametrize("form", [form for form in WINDOWS_FORMATS.values() if not form.field_bits])
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
