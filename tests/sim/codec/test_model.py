"""The golden model against the slow codec of an outsider, and its properties."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import cdma
from cdma.sim import decode_packet, encode_packet
from cdma.sim.codec import container, unpacking
from cdma.sim.codec import model as codec
from cdma.sim.codec.headers import lengths_at, unpack, window_lengths
from cdma.sim.codec.stimuli import SHAPES as BYTE_SHAPES
from cdma.sim.codec.words import word_dtype
from tests.outside.codec import Form

QUICK = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

#: Every shape: the bits of a word, the window, the bits of a code, those of the field, and the alignment.
SHAPES = [
    *BYTE_SHAPES,
    *(
        (bits, window, code, 0, 1)
        for bits, window, code in itertools.product((2, 4), (4, 8, 16, 32, 64), (1, 2, 4))
        if window * code % bits == 0
    ),
]

_ERRORS = {"": 0, "truncated": 1, "trailing": 2, "code": 3, "padding": 5}


class Judge:
    """What the outsider says of a format, in words of the stream."""

    def __init__(self, format: cdma.Format) -> None:
        self.form = Form(**vars(format))
        self.type = f"<u{self.form.unit}"

    def _bytes(self, stream):
        return np.array(stream, self.type).tobytes()

    def compress(self, words):
        return np.frombuffer(self.form.compress(words)[0], self.type).tolist()

    def decompress(self, stream, count):
        """The words and None, or None and the fault with the word of the stream that has it."""
        fault = self.form.fault(self._bytes(stream), count)
        if fault is None:
            return self.form.decompress(self._bytes(stream), count, self.form.window)[0], None
        return None, (fault[0], fault[1] // self.form.unit)

    def hardware(self, stream, count, lanes):
        """The words that hardware delivers, the literals in these, and the number of its error."""
        words, literals, fault = self.form.decompress(self._bytes(stream), count, lanes)
        return words, literals, _ERRORS[fault] if count else 2


@st.composite
def formats(draw, shapes=tuple(SHAPES)):
    word_bits, window, code_bits, field_bits, align = draw(st.sampled_from(shapes))
    zero = field_bits > 0 and draw(st.booleans())
    rotate = draw(st.sampled_from([0, 1, 5, word_bits - 1])) if field_bits else 0
    value = st.one_of(st.integers(0, 3), st.integers(0, 2 ** (field_bits or word_bits) - 1))
    values = draw(st.lists(value, min_size=0 if zero else 1, max_size=2**code_bits - 1 - zero))
    format = cdma.Format(word_bits, window, code_bits, tuple(values), field_bits, rotate, zero, align)
    groups = [group for group in (8, 16, 32, 64) if group % format.stream_bits == 0]
    if draw(st.booleans()) and (zero or not field_bits):
        return replace(format, levels=2, group=draw(st.sampled_from(groups)))
    return format


def word_with_field(format, field, rest):
    bits, low = format.word_bits, format.word_bits - (format.field_bits or format.word_bits)
    turned = field << low | rest & (1 << low) - 1
    return (turned >> format.rotate | turned << bits - format.rotate) & (1 << bits) - 1


@st.composite
def packets(draw, shapes=tuple(SHAPES)):
    """A format and words that its table, zeros and anything else share."""
    format = draw(formats(shapes))
    any_word = st.integers(0, 2**format.word_bits - 1)
    known = st.builds(
        lambda field, rest: word_with_field(format, field, rest),
        st.sampled_from(format.values or (0,)),
        st.one_of(st.just(0), any_word),
    )
    near = draw(st.sampled_from([0, 1, format.window, 2 * format.window]))
    size = max(0, near + draw(st.integers(-3, 3)))
    word = st.one_of(known, st.integers(0, 3), any_word)
    words = draw(st.lists(word, min_size=size, max_size=size))
    if format.levels == 2:
        # Absent windows before those, to the end of the group or almost.
        absent = draw(st.sampled_from([0, 1, format.group - 1, format.group]))
        words = [0 if format.zero else format.values[0]] * (absent * format.window) + words
    return format, words


@st.composite
def streams(draw):
    """A format, any stream, and a count: most often a good stream with something done to it."""
    format, words = draw(packets())
    stream = codec.compress_words(words, format).tolist()
    count = len(words)
    any_word = st.integers(0, 2**format.stream_bits - 1)
    match draw(st.integers(0, 7)):
        case 0:
            stream = stream[: draw(st.integers(0, len(stream)))]
        case 1:
            stream += draw(st.lists(any_word, min_size=1, max_size=9))
        case 2 if stream:
            stream[draw(st.integers(0, len(stream) - 1))] = draw(any_word)
        case 3:
            count = max(0, count + draw(st.integers(-5, 5)))
        case 4:
            stream = draw(st.lists(any_word, max_size=6 * format.window))
        case 5 if stream:
            stream[-1] ^= 1 << draw(st.integers(0, format.stream_bits - 1))
        case 6 if stream and format.levels == 2:
            place = draw(st.integers(0, format.mask_words - 1))
            stream[place] ^= 1 << draw(st.integers(0, format.stream_bits - 1))
    return format, stream, count


@QUICK
@given(packets())
def test_model_is_the_reference(packet):
    format, words = packet
    result = encode_packet(words, format)
    stream = codec.compress_words(words, format)
    assert stream.tolist() == result.words.tolist() == Judge(format).compress(words)
    assert len(stream) <= format.bound(len(words))
    assert codec.decompress_words(stream, len(words), format).tolist() == words
    report = result.report
    assert (report.words_in, report.words_out, report.error) == (len(words), len(stream), 0)
    if not format.field_bits:
        assert report.literals == sum(word not in format.values for word in words)
    if format.word_bits >= 8:
        tensor = np.array(words, word_dtype(format))
        assert cdma.compress(tensor, format) == stream.tobytes()
        assert cdma.analyse(tensor, format).compressed_bytes == stream.nbytes


@pytest.mark.slow
@QUICK
@given(streams(), st.sampled_from([1, 2, 4, 8, 16, 32, 64]))
def test_any_stream_is_judged_as_by_the_reference_and_its_hardware(case, lanes):
    """Software refuses a stream as a whole; the hardware has by then sent beats on, and reports the same fault."""
    format, stream, count = case
    judge, lanes = Judge(format), min(lanes, format.window)
    words, wrong = judge.decompress(stream, count)
    if wrong is None:
        assert codec.decompress_words(stream, count, format).tolist() == words
    else:
        with pytest.raises(cdma.CorruptStream) as caught:
            codec.decompress_words(stream, count, format)
        assert (caught.value.kind, caught.value.word) == wrong
    result = decode_packet(stream, count, format, lanes)
    report = result.report
    if wrong is None:
        assert result.words.tolist() == words
        assert report.error == (0 if count else 2)
    delivered, literals, error = judge.hardware(stream, count, lanes)
    assert result.words.tolist() == delivered
    assert (report.words_in, report.words_out, report.literals) == (len(stream), len(delivered), literals)
    assert report.error == error


@QUICK
@given(packets(tuple(BYTE_SHAPES)), st.data())
def test_every_proper_prefix_is_truncated(packet, data):
    format, words = packet
    unit = format.stream_bits // 8
    stream = cdma.compress(np.array(words, word_dtype(format)), format)
    assert cdma.decompress(stream, len(words), format).tolist() == words
    if stream:
        cut = data.draw(st.integers(0, len(stream) - 1))
        with pytest.raises(cdma.CorruptStream, match="ends after") as caught:
            cdma.decompress(stream[:cut], len(words), format)
        assert (caught.value.kind, caught.value.word) == ("truncated", cut // unit)
    with pytest.raises(cdma.CorruptStream, match="follow") as caught:
        cdma.decompress(stream + bytes(data.draw(st.integers(1, 9))), len(words), format)
    assert (caught.value.kind, caught.value.word) == ("trailing", len(stream) // unit)


TENSORS = npst.arrays(
    dtype=st.one_of(
        npst.integer_dtypes(endianness="?"),
        npst.unsigned_integer_dtypes(endianness="?"),
        npst.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
        npst.complex_number_dtypes(sizes=(64,)),
        npst.boolean_dtypes(),
    ),
    shape=npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9),
)


@QUICK
@given(TENSORS, st.sampled_from([8, 16, 32]), st.booleans())
def test_any_tensor_comes_back_bit_for_bit(tensor, word_bits, strided):
    format = cdma.Format(word_bits=word_bits)
    if tensor.dtype.itemsize * 8 % word_bits:
        with pytest.raises(cdma.ParameterError, match="not a whole number of words"):
            cdma.compress(tensor, format)
        return
    if strided and tensor.ndim:
        tensor = tensor.T[::-1]
    little = np.ascontiguousarray(tensor, tensor.dtype.newbyteorder("<")).tobytes()
    words = len(little) * 8 // word_bits
    stream = cdma.compress(tensor, format)
    assert cdma.decompress(stream, words, format).tobytes() == little
    analysis = cdma.analyse(tensor, format)
    assert analysis.words == words
    assert analysis.compressed_words == len(stream) * 8 // word_bits
    assert analysis.literals == np.count_nonzero(np.frombuffer(little, f"u{word_bits // 8}"))


@pytest.mark.parametrize("density", [0, 0.02, 0.5, 1])
@pytest.mark.parametrize(
    "format",
    [
        cdma.Format(window=64),
        cdma.Format(word_bits=16, code_bits=2, values=(0, 7)),
        cdma.Format(word_bits=8, code_bits=4, values=tuple(range(15))),
        cdma.Format(16, 32, 3, (127, 126, 125, 124, 123, 128), 8, 1, True),
        cdma.Format(32, 64, 3, (127, 126), 16, 0, False, 8),
        cdma.Format(8, 64, align=4),
        cdma.Format(16, levels=2),
        cdma.Format(32, 64, 2, (3, 5), align=8, levels=2, group=64),
    ],
    ids=str,
)
def test_long_streams(density, format):
    """Many windows: more than one group of frames, and headers found by many walkers."""
    rng = np.random.default_rng(7)
    size = unpacking._MANY_WINDOWS * format.window + container.FRAME_WORDS + 5
    words = rng.integers(1, 1 << format.word_bits, size, word_dtype(format))
    near = rng.normal(0, 0.02, size).astype(np.float32).view(np.uint32) >> (32 - format.word_bits)
    words[::2] = near[::2].astype(words.dtype)
    words[rng.random(size) >= density] = 0
    # A stretch of nothing and a stretch of one value, as dead and saturated channels have.
    words[size // 3 : size // 2] = 0
    words[-size // 5 :] = 3
    stream = codec.compress_words(words, format)
    assert np.array_equal(codec.decompress_words(stream, size, format), words)
    assert cdma.compress(words, format) == stream.tobytes()
    if format.align == format.levels == 1:
        windows = -(-size // format.window)
        lengths = lengths_at(stream, format)
        assert np.array_equal(
            unpacking.find_headers(stream, windows, format)[0], unpacking._walk(lengths, windows)
        )
    with pytest.raises(cdma.CorruptStream) as caught:
        codec.decompress_words(stream[:-1], size, format)
    assert (caught.value.kind, caught.value.word) == ("truncated", len(stream) - 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([1, 2, 17]))
def test_many_walkers_find_what_one_finds(seed, walkers, step):
    """On any lengths at all, also where walkers never meet."""
    rng = np.random.default_rng(seed)
    lengths = (rng.integers(1, 5, 500) * step).astype(np.uint8)
    assert np.array_equal(unpacking._walk_together(lengths, walkers), unpacking._walk(lengths, len(lengths)))


def test_lengths_are_those_of_the_codes():
    rng = np.random.default_rng(3)
    for word_bits, window, code_bits, field_bits, align in SHAPES:
        for zero in (False, True)[: 2 if field_bits else 1]:
            values = (0,) if 2**code_bits > 2 or not zero else ()
            format = cdma.Format(word_bits, window, code_bits, values, field_bits, 0, zero, align)
            stream = rng.integers(0, 1 << format.stream_bits, 140, f"u{max(8, format.stream_bits) // 8}")
            stream[rng.random(140) < 0.3] = (1 << format.stream_bits) - 1
            stream[rng.random(140) < 0.3] = 0
            lengths = lengths_at(stream, format)
            assert len(lengths) == 141 - format.header_words
            places = np.arange(len(lengths))[:, None] + np.arange(format.header_words)
            codes = unpack(stream[places], format)
            assert np.array_equal(lengths, window_lengths(codes, format)), format
            if not field_bits and align == 1:
                literals = (codes == format.literal_code).sum(axis=1)
                assert np.array_equal(lengths, format.header_words + literals), format


def test_analysis_of_nothing():
    analysis = cdma.analyse(np.zeros((3, 0), np.float32))
    assert (analysis.words, analysis.windows, analysis.density, analysis.ratio) == (0, 0, 0.0, 1.0)


def test_absurd_counts_are_refused_without_memory():
    with pytest.raises(cdma.CorruptStream, match="the stream ends after 2 words, in window 2 of"):
        cdma.decompress(bytes(8), 10**15)
    with pytest.raises(cdma.ParameterError, match="words is -1; it must be a whole number"):
        cdma.decompress(b"", -1)


@pytest.mark.parametrize(
    ("compress", "data", "format", "message"),
    [
        (
            cdma.compress,
            np.array(["a"]),
            cdma.Format(),
            "the array holds <U1; it must hold integers, floating",
        ),
        (cdma.compress, np.array([None]), cdma.Format(), "the array holds object; it must hold integers"),
        (
            cdma.compress,
            np.zeros(3, np.int8),
            cdma.Format(),
            "int8, 8 bits; that is not a whole number of words",
        ),
        (cdma.compress, np.zeros(3, np.int8), cdma.Format(4, 8), "word_bits is 4; bytes hold words of 8, 16"),
        (codec.compress_words, [[1]], cdma.Format(4, 8), "the words have the shape (1, 1); a packet is one-"),
        (codec.compress_words, [1.5], cdma.Format(4, 8), "the words are float64; words are whole numbers"),
        (codec.compress_words, [-1, 0], cdma.Format(4, 8), "the words hold -1; a word has 4 bits, 0 to 15"),
        (codec.compress_words, [0, 16], cdma.Format(4, 8), "the words hold 16; a word has 4 bits, 0 to 15"),
    ],
)
def test_refused_data(compress, data, format, message):
    with pytest.raises(cdma.ParameterError) as caught:
        compress(data, format)
    assert message in str(caught.value)
