"""The golden model of fields, codes of three bits and padded windows, against the codec of an outsider."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cdma
from cdma.sim import decode_packet, encode_packet
from cdma.sim.codec import frames, walk
from cdma.sim.codec.headers import lengths_at, unpack, window_lengths
from cdma.sim.codec.words import word_dtype
from tests.outside.codec import Form

QUICK = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])

#: Every shape: the bits of a word, the window, the bits of a code, those of the field, and the alignment.
SHAPES = [
    shape
    for shape in itertools.product(
        (8, 16, 32), (4, 8, 16, 32, 64), (1, 2, 3, 4), (0, 8, 16, 24), (1, 2, 4, 8)
    )
    if shape[3] < shape[0] and shape[1] * shape[2] % (8 if shape[3] else shape[0]) == 0
]


@st.composite
def formats(draw):
    word_bits, window, code_bits, field_bits, align = draw(st.sampled_from(SHAPES))
    zero = field_bits > 0 and draw(st.booleans())
    rotate = draw(st.sampled_from([0, 1, 5, word_bits - 1])) if field_bits else 0
    bits = field_bits or word_bits
    value = st.one_of(st.integers(0, 3), st.integers(0, 2**bits - 1))
    most = 2**code_bits - 1 - zero
    values = draw(st.lists(value, min_size=0 if zero else 1, max_size=most))
    return cdma.Format(word_bits, window, code_bits, tuple(values), field_bits, rotate, zero, align)


def word_with_field(format, field, rest):
    bits, low = format.word_bits, format.word_bits - (format.field_bits or format.word_bits)
    turned = field << low | rest & (1 << low) - 1
    return (turned >> format.rotate | turned << bits - format.rotate) & (1 << bits) - 1


@st.composite
def packets(draw):
    """A format and words that its table, zeros and anything else share."""
    format = draw(formats())
    any_word = st.integers(0, 2**format.word_bits - 1)
    known = st.builds(
        lambda field, rest: word_with_field(format, field, rest),
        st.sampled_from(format.values or (0,)),
        st.one_of(st.just(0), any_word),
    )
    word = st.one_of(known, st.integers(0, 3), any_word)
    near = draw(st.sampled_from([0, 1, format.window, 2 * format.window]))
    size = max(0, near + draw(st.integers(-3, 3)))
    return format, draw(st.lists(word, min_size=size, max_size=size))


@st.composite
def streams(draw):
    """A format, any stream, and a count: most often a good stream with something done to it."""
    format, words = draw(packets())
    stream = bytearray(compressed(words, format))
    count = len(words)
    match draw(st.integers(0, 6)):
        case 0:
            del stream[draw(st.integers(0, len(stream))) :]
        case 1:
            stream += draw(st.binary(min_size=1, max_size=9))
        case 2 if stream:
            stream[draw(st.integers(0, len(stream) - 1))] = draw(st.integers(0, 255))
        case 3:
            count = max(0, count + draw(st.integers(-5, 5)))
        case 4:
            stream = bytearray(draw(st.binary(max_size=6 * format.window)))
        case 5 if stream:
            stream[-1] ^= 1 << draw(st.integers(0, 7))
    # Words of a cut stream word are no business of the hardware.
    del stream[len(stream) // (format.stream_bits // 8) * (format.stream_bits // 8) :]
    return format, bytes(stream), count


def compressed(words, format):
    return cdma.compress(np.array(words, word_dtype(format)), format)


@QUICK
@given(packets())
def test_model_is_the_reference(packet):
    format, words = packet
    stream = compressed(words, format)
    assert stream == Form(**vars(format)).compress(words)[0]
    assert len(stream) <= format.bound_bytes(len(words))
    assert cdma.decompress(stream, len(words), format).tolist() == words
    analysis = cdma.analyse(np.array(words, word_dtype(format)), format)
    assert analysis.compressed_bytes == len(stream)


@QUICK
@given(streams())
def test_any_stream_is_judged_as_by_the_reference(case):
    format, stream, count = case
    form = Form(**vars(format))
    wrong = form.fault(stream, count)
    if wrong is None:
        words, _, _ = form.decompress(stream, count, format.window)
        assert cdma.decompress(stream, count, format).tolist() == words
        return
    with pytest.raises(cdma.CorruptStream) as caught:
        cdma.decompress(stream, count, format)
    assert (caught.value.kind, caught.value.word) == (wrong[0], wrong[1] * 8 // format.stream_bits)


@QUICK
@given(streams(), st.sampled_from([1, 2, 4, 8, 16, 32, 64]))
def test_any_packet_is_what_the_reference_hardware_delivers(case, lanes):
    format, stream, count = case
    lanes = min(lanes, format.window)
    words, literals, fault = Form(**vars(format)).decompress(stream, count, lanes)
    units = np.frombuffer(stream, f"<u{format.stream_bits // 8}")
    result = decode_packet(units, count, format, lanes)
    assert result.words.tolist() == words
    errors = {"": 0 if count else 2, "truncated": 1, "trailing": 2, "code": 3, "padding": 5}
    assert result.report.error == errors[fault]
    assert (result.report.words_in, result.report.words_out) == (len(units), len(words))
    assert result.report.literals == literals


@QUICK
@given(packets())
def test_compressor_report(packet):
    format, words = packet
    result = encode_packet(words, format)
    assert result.words.tobytes() == compressed(words, format)
    report = result.report
    assert (report.words_in, report.words_out, report.error) == (len(words), len(result.words), 0)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lengths_are_those_of_the_codes(shape):
    word_bits, window, code_bits, field_bits, align = shape
    rng = np.random.default_rng(3)
    for zero in (False, True)[: 2 if field_bits else 1]:
        values = (0,) if 2**code_bits > 2 or not zero else ()
        format = cdma.Format(word_bits, window, code_bits, values, field_bits, 0, zero, align)
        stream = rng.integers(0, 1 << format.stream_bits, 140, f"u{format.stream_bits // 8}")
        stream[rng.random(140) < 0.3] = (1 << format.stream_bits) - 1
        stream[rng.random(140) < 0.3] = 0
        lengths = lengths_at(stream, format)
        assert len(lengths) == 141 - format.header_words
        for position, length in enumerate(lengths):
            codes = unpack(stream[None, position : position + format.header_words], format)
            assert length == window_lengths(codes, format)[0]


@pytest.mark.parametrize(
    "format",
    [
        cdma.Format(16, 32, 3, (127, 126, 125, 124, 123, 128), 8, 1, True),
        cdma.Format(32, 64, 4, (127, 126), 8, 1, True),
        cdma.Format(32, 64, 3, (127, 126), 16, 0, False, 8),
        cdma.Format(8, 64, align=4),
        cdma.Format(16, 32, 3, (0, 1, 2), align=8),
    ],
    ids=str,
)
def test_long_streams(format):
    """Many windows: more than one group of frames, and headers found by many walkers."""
    rng = np.random.default_rng(7)
    size = walk._MANY_WINDOWS * format.window + frames.FRAME_WORDS + 5
    words = rng.integers(0, 1 << format.word_bits, size, word_dtype(format))
    near = rng.normal(0, 0.02, size).astype(np.float32).view(np.uint32) >> (32 - format.word_bits)
    dense = rng.random(size) < 0.9
    words[dense] = near[dense].astype(words.dtype)
    words[size // 3 : size // 2] = 0
    stream = cdma.compress(words, format)
    assert np.array_equal(cdma.decompress(stream, size, format), words)
    with pytest.raises(cdma.CorruptStream) as caught:
        cdma.decompress(stream[: -format.stream_bits // 8], size, format)
    assert caught.value.kind == "truncated"


@pytest.mark.parametrize(
    ("format", "words", "stream"),
    [
        (
            cdma.Format(16, 8, 4, (127, 126), 8, 1, True),
            [0x0000, 0x3F80, 0xBF80, 0x3FC0, 0x3F00, 0x4000, 0x8000, 0x0001],
            "1011f2ff 00 01 80 00 0080 0100 0200",
        ),
        (
            cdma.Format(16, 32, 3, (127, 126), 8, 1, True),
            [0x0000, 0x3F80, 0xBF80, 0x3FC0, 0x3F00, 0x4000, 0x8000, 0x0001]
            + [0] * 20
            + [0x3F81, 0xBF02, 0x7F80, 0x3E99],
            "48a2ff0000000000000010fd 00 01 80 00 0080 0100 0200 02 05 00ff 327d",
        ),
        (
            cdma.Format(8, 32, 1, (0,), align=4),
            [0, 5, 0, 0, 255] + [0] * 27 + [7, 0, 9],
            "12000000 05ff 0000 05000000 0709 0000",
        ),
    ],
)
def test_examples_of_an_independent_encoder(format, words, stream):
    assert compressed(words, format) == bytes.fromhex(stream)
    assert Form(**vars(format)).compress(words)[0] == bytes.fromhex(stream)
    assert cdma.decompress(bytes.fromhex(stream), len(words), format).tolist() == words
