"""The golden model against the slow reference, and its properties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import cdma
from cdma.sim import decode_packet, encode_packet
from cdma.sim.codec import frames, walk
from cdma.sim.codec import model as codec
from cdma.sim.codec.headers import lengths_at, unpack
from cdma.sim.codec.words import word_dtype
from tests.support import reference

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

#: Every shape of format; tables are drawn.
SHAPES = [
    (word_bits, window, code_bits)
    for word_bits, window, code_bits in itertools.product((2, 4, 8, 16, 32), (4, 8, 16, 32, 64), (1, 2, 4))
    if window * code_bits % word_bits == 0
]
BYTE_SHAPES = [shape for shape in SHAPES if shape[0] >= 8 and shape[1] >= 32]


@st.composite
def formats(draw, shapes=tuple(SHAPES)):
    word_bits, window, code_bits = draw(st.sampled_from(shapes))
    value = st.one_of(st.integers(0, 3), st.integers(0, 2**word_bits - 1))
    values = draw(st.lists(value, min_size=1, max_size=2**code_bits - 1))
    return cdma.Format(word_bits, window, code_bits, tuple(values))


@st.composite
def packets(draw, shapes=tuple(SHAPES)):
    """A format and words that its table, zeros and anything else share."""
    format = draw(formats(shapes))
    word = st.one_of(
        st.sampled_from(format.values), st.integers(0, 3), st.integers(0, 2**format.word_bits - 1)
    )
    near = draw(st.sampled_from([0, 1, format.window, 2 * format.window]))
    size = max(0, near + draw(st.integers(-3, 3)))
    return format, draw(st.lists(word, min_size=size, max_size=size))


@st.composite
def streams(draw, shapes=tuple(SHAPES)):
    """A format, any stream, and a count: most often a good stream with something done to it."""
    format, words = draw(packets(shapes))
    stream = codec.compress_words(words, format).tolist()
    count = len(words)
    any_word = st.integers(0, 2**format.word_bits - 1)
    match draw(st.integers(0, 5)):
        case 0:
            stream = stream[: draw(st.integers(0, len(stream)))]
        case 1:
            stream += draw(st.lists(any_word, min_size=1, max_size=5))
        case 2 if stream:
            stream[draw(st.integers(0, len(stream) - 1))] = draw(any_word)
        case 3:
            count = max(0, count + draw(st.integers(-5, 5)))
        case 4:
            stream = draw(st.lists(any_word, max_size=3 * format.window))
    return format, stream, count


def parameters_of(format):
    return format.word_bits, format.window, format.code_bits, format.values


@QUICK
@given(packets())
def test_model_is_the_reference(packet):
    format, words = packet
    stream = codec.compress_words(words, format)
    assert stream.dtype == word_dtype(format)
    assert stream.tolist() == reference.compress(words, *parameters_of(format))
    assert len(stream) <= format.bound(len(words))
    assert codec.decompress_words(stream, len(words), format).tolist() == words


@QUICK
@given(streams())
def test_any_stream_is_judged_as_by_the_reference(case):
    format, stream, count = case
    words, wrong = reference.decompress(stream, count, *parameters_of(format))
    if wrong is None:
        assert codec.decompress_words(stream, count, format).tolist() == words
        return
    with pytest.raises(cdma.CorruptStream) as caught:
        codec.decompress_words(stream, count, format)
    assert (caught.value.kind, caught.value.word) == wrong


@QUICK
@given(streams(), st.sampled_from([1, 2, 4, 8, 16, 32, 64]))
def test_any_packet_is_what_the_reference_hardware_delivers(case, lanes):
    format, stream, count = case
    lanes = min(lanes, format.window)
    words, literals, error = reference.hardware(stream, count, *parameters_of(format), lanes)
    result = decode_packet(stream, count, format, lanes)
    report = result.report
    assert result.words.tolist() == words
    assert (report.words_in, report.words_out, report.literals) == (len(stream), len(words), literals)
    assert report.error == error


@QUICK
@given(streams(), st.sampled_from([1, 4, 8]))
def test_hardware_and_software_agree_on_what_is_corrupt(case, lanes):
    format, stream, count = case
    result = decode_packet(stream, count, format, min(lanes, format.window))
    kind = None
    try:
        words = codec.decompress_words(stream, count, format).tolist()
    except cdma.CorruptStream as error:
        kind = error.kind
    expected = {None: 0 if count else 2, "truncated": 1, "trailing": 2, "code": 3}
    assert result.report.error == expected[kind]
    if kind is None:
        assert result.words.tolist() == words


@QUICK
@given(packets())
def test_compressor_report(packet):
    format, words = packet
    result = encode_packet(words, format)
    assert result.words.tolist() == reference.compress(words, *parameters_of(format))
    literals = sum(word not in format.values for word in words)
    report = result.report
    assert (report.words_in, report.words_out, report.literals, report.error) == (
        len(words),
        len(result.words),
        literals,
        0,
    )


@QUICK
@given(packets(tuple(BYTE_SHAPES)), st.data())
def test_every_proper_prefix_is_truncated(packet, data):
    format, words = packet
    tensor = np.array(words, word_dtype(format))
    stream = cdma.compress(tensor, format)
    assert cdma.decompress(stream, len(words), format).tolist() == words
    if stream:
        cut = data.draw(st.integers(0, len(stream) - 1))
        with pytest.raises(cdma.CorruptStream, match="ends after") as caught:
            cdma.decompress(stream[:cut], len(words), format)
        assert caught.value.kind == "truncated"
        assert caught.value.word == cut // (format.word_bits // 8)
    longer = stream + bytes(data.draw(st.integers(1, 9)))
    with pytest.raises(cdma.CorruptStream, match="follow") as caught:
        cdma.decompress(longer, len(words), format)
    assert caught.value.kind == "trailing"
    assert caught.value.word == len(stream) // (format.word_bits // 8)


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


def test_negative_zero_and_nan_payloads_survive():
    bits = np.array([0x80000000, 0x7FA00001, 0, 0xFFC12345], np.uint32)
    stream = cdma.compress(bits.view(np.float32))
    assert len(stream) == 4 + 3 * 4
    assert cdma.decompress(stream, 4).tolist() == bits.tolist()


@pytest.mark.parametrize("density", [0, 0.02, 0.5, 1])
@pytest.mark.parametrize(
    "format",
    [
        cdma.Format(),
        cdma.Format(window=64),
        cdma.Format(word_bits=16, code_bits=2, values=(0, 7)),
        cdma.Format(word_bits=8),
        cdma.Format(word_bits=8, code_bits=4, values=tuple(range(15))),
    ],
    ids=str,
)
def test_long_streams(density, format):
    """Many windows: more than one group of frames, and headers found by many walkers."""
    rng = np.random.default_rng(7)
    size = walk._MANY_WINDOWS * format.window + frames.FRAME_WORDS + 5
    words = rng.integers(1, 1 << format.word_bits, size, word_dtype(format))
    words[rng.random(size) >= density] = 0
    # A stretch of nothing and a stretch of one value, as dead and saturated channels have.
    words[size // 3 : size // 2] = 0
    words[-size // 5 :] = 3
    stream = codec.compress_words(words, format)
    assert np.array_equal(codec.decompress_words(stream, size, format), words)
    windows = -(-size // format.window)
    lengths = lengths_at(stream, format)
    assert np.array_equal(walk.find_headers(stream, windows, format)[0], walk._walk(lengths, windows))
    with pytest.raises(cdma.CorruptStream) as caught:
        codec.decompress_words(stream[:-1], size, format)
    assert (caught.value.kind, caught.value.word) == ("truncated", len(stream) - 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([1, 2, 17]))
def test_many_walkers_find_what_one_finds(seed, walkers, step):
    """On any lengths at all, also where walkers never meet."""
    rng = np.random.default_rng(seed)
    lengths = (rng.integers(1, 5, 500) * step).astype(np.uint8)
    assert np.array_equal(walk._walk_together(lengths, walkers), walk._walk(lengths, len(lengths)))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lengths_count_what_unpack_sees(shape):
    format = cdma.Format(*shape)
    rng = np.random.default_rng(3)
    stream = rng.integers(0, 1 << format.word_bits, 70, word_dtype(format))
    stream[rng.random(70) < 0.3] = (1 << format.word_bits) - 1
    for position, length in enumerate(lengths_at(stream, format)):
        codes = unpack(stream[None, position : position + format.header_words], format)
        assert length == format.header_words + np.count_nonzero(codes == format.literal_code)


def test_analysis_of_nothing():
    analysis = cdma.analyse(np.zeros((3, 0), np.float32))
    assert (analysis.words, analysis.windows, analysis.density, analysis.ratio) == (0, 0, 0.0, 1.0)


def test_absurd_counts_are_refused_without_memory():
    with pytest.raises(cdma.CorruptStream, match="the stream ends after 2 words, in window 2 of"):
        cdma.decompress(bytes(8), 10**15)
    with pytest.raises(cdma.ParameterError, match="words is -1; it must be a whole number"):
        cdma.decompress(b"", -1)


@pytest.mark.parametrize(
    ("array", "format", "message"),
    [
        (
            np.array(["a"]),
            cdma.Format(),
            "the array holds <U1; it must hold integers, floating-point or complex numbers",
        ),
        (np.array([None]), cdma.Format(), "the array holds object; it must hold integers"),
        (
            np.zeros(3, np.int8),
            cdma.Format(),
            "the array holds int8, 8 bits; that is not a whole number of words",
        ),
        (np.zeros(3, np.int8), cdma.Format(4, 8), "word_bits is 4; bytes hold words of 8, 16 or 32 bits"),
    ],
)
def test_refused_arrays(array, format, message):
    with pytest.raises(cdma.ParameterError) as caught:
        cdma.compress(array, format)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([[1]], "the words have the shape (1, 1); a packet is one-dimensional"),
        ([1.5], "the words are float64; words are whole numbers"),
        ([-1], "the words hold -1; a word has 4 bits, 0 to 15"),
        ([3, 16], "the words hold 16; a word has 4 bits, 0 to 15"),
    ],
)
def test_refused_words(words, message):
    with pytest.raises(cdma.ParameterError) as caught:
        codec.compress_words(words, cdma.Format(4, 8))
    assert str(caught.value) == message
