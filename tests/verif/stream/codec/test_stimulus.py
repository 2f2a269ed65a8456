"""Stimulus and pauses: what they promise, since a bench whose stimulus is not what it says proves little. The letters of
timing diagrams.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma import CodecConfig, Format
from cdma.sim.codec.headers import codes_of
from cdma.verif.simulator.monitors.stream_ends import PATTERNS
from cdma.verif.stream.codec import stimulus
from cdma.verif.stream.codec.codec_bench import BENCH
from cdma.verif.stream.codec.design import CodecDesign
from cdma.verif.stream.codec.stimulus import (
    Speller,
    beats_of,
    compress_packet,
    corrupt_packet,
    decompress_packet,
    window_loads,
)

CONFIGS = [
    CodecConfig(),
    CodecConfig(Format(8, 64, 4, tuple(range(15))), 64),
    CodecConfig(Format(16, 32, 2, (7, 0)), 2),
    CodecConfig(Format(32, 64, 1, (0,)), 1),
]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_fill_puts_literals_just_where_the_mask_says(config: CodecConfig, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask = stimulus.mixed(rng, stimulus.some_length(rng, config), config)
    words = BENCH.fill(rng, mask, config)
    assert ((codes_of(words, config.format) == config.format.literal_code) == mask).all()


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_adversarial_periods_are_whole_beats(config: CodecConfig) -> None:
    """The fill level comes back each time round: that is what makes a lost cycle add up."""
    window = config.format.window
    for mask in stimulus.adversarial(config, 5):
        words = BENCH.fill(np.random.default_rng(0), mask, config)
        _, stream = window_loads(words, config)
        assert len(mask) == window * 16
        assert sum(stream[1:4]) % config.lanes == 0
        assert (stream[1:4] == stream[4:7]).all()
        assert stream[1] == config.format.header_words + window


def test_beats_are_packed_and_only_the_last_is_partial() -> None:
    beats = beats_of(np.arange(1, 12, dtype=np.uint32), 32, CodecConfig())
    assert [(beat.keep, beat.last) for beat in beats] == [(0xFFFFFFFF, False), (0xFFF, True)]
    assert beats[1].data == 9 | 10 << 32 | 11 << 64
    assert [(beat.keep, beat.last) for beat in beats_of(np.zeros(0, np.uint32), 32, CodecConfig())] == [
        (0, True)
    ]


def test_a_word_of_half_a_byte_has_a_bit_of_keep() -> None:
    config = CodecConfig(Format(4), lanes=4)
    beats = beats_of(np.array([1, 2, 3, 4, 5], np.uint8), 4, config)
    assert [(beat.data, beat.keep, beat.last) for beat in beats] == [(0x4321, 0xF, False), (0x5, 1, True)]


def test_cost_is_the_sum_over_windows() -> None:
    """By hand: a dense window is 33 words out, an empty one 32 words in, 5 literals are 6 words out."""
    words = np.concatenate([np.ones(32), np.zeros(32), np.ones(5)]).astype(np.uint32)
    assert compress_packet(words, CodecConfig()).cost == -(-(33 + 32 + 6) // 8)
    # The last window is longer in the stream, and follows one that is not all literals: whole beats.
    assert decompress_packet(words, CodecConfig()).cost == -(-(33 + 32 + 8) // 8)
    # A header of eight words takes two beats of four lanes: one cycle more per window is allowed.
    wide = CodecConfig(Format(8, 64, 1), 4)
    assert compress_packet(np.ones(64, np.uint8), wide).cost == (64 + 8) // 4 + 1
    assert BENCH.limits(CodecConfig(), "compressor").constant == 8
    assert BENCH.limits(CodecConfig(lanes=1), "compressor").constant == 36
    assert BENCH.limits(CodecConfig(), "compressor").latency == 6
    assert BENCH.limits(CodecConfig(), "decompressor").latency == 4
    for block in ("compressor", "decompressor"):
        assert BENCH.limits(CodecConfig(), block).back_to_back == 1


def test_a_plain_decompressor_counts_whole_beats_where_it_must() -> None:
    """By hand: 33 words for a dense window after a dense one, else 40; a cycle more where two rows are tight."""
    dense, empty = np.ones(32, np.uint32), np.zeros(32, np.uint32)
    words = np.concatenate([dense, dense, empty, dense, dense])
    assert compress_packet(words, CodecConfig()).cost == -(-(33 * 4 + 32) // 8)
    assert decompress_packet(words, CodecConfig()).cost == -(-(33 * 3 + 40 + 32) // 8)
    assert decompress_packet(np.tile(dense, 8), CodecConfig()).cost == 33
    # A header of two words: the empty window and the one after it may take a cycle more.
    half = CodecConfig(Format(16, 32, 1), 8)
    assert decompress_packet(words.astype(np.uint16), half).cost == -(-(34 * 4 + 32) // 8) + 2
    assert decompress_packet(np.tile(dense, 8).astype(np.uint16), half).cost == 34


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_windows_short_of_dense(config: CodecConfig) -> None:
    """Periods of whole windows, of which the first has literals to spare for its header."""
    window = config.format.window
    for mask in stimulus.short_of_dense(config, 3):
        assert len(mask) % (3 * window) == 0
        assert (
            window - config.format.header_words - 3
            <= mask[:window].sum()
            <= window - config.format.header_words
        )


def test_cycles_that_a_pipelined_codec_may_take() -> None:
    """By hand: the beats of a window, the stages, and for a decompressor the beats of a header."""
    standard = CodecConfig(pipelined=True)
    assert BENCH.limits(standard, "compressor").constant == 4 + 12
    assert BENCH.limits(standard, "decompressor").constant == 4 + 18 + 1
    assert BENCH.limits(standard, "compressor").latency == 15
    assert BENCH.limits(standard, "decompressor").latency == 22
    assert BENCH.limits(standard, "compressor").back_to_back == 1
    assert BENCH.limits(standard, "decompressor").back_to_back == 2
    narrow = CodecConfig(Format(8, 32, 4), 1, pipelined=True)
    assert BENCH.limits(narrow, "compressor").constant == 32 + 12
    assert BENCH.limits(narrow, "decompressor").constant == 32 + 18 + 16
    # A window of more than four beats has a cycle for a register, if its header is read at once.
    two = BENCH.limits(CodecConfig(lanes=2, pipelined=True), "decompressor")
    assert (two.constant, two.latency, two.back_to_back, two.least_window) == (16 + 19 + 1, 35, 3, 5 * 2)


@pytest.mark.parametrize("last", [1, 5, 31, 32])
def test_a_short_last_window_costs_a_pipelined_decompressor_four_cycles(last: int) -> None:
    """A window takes four cycles at least there, however short; nothing else is allowed more than by the sum."""
    words = np.concatenate([np.zeros(32), np.ones(32), np.zeros(last)]).astype(np.uint32)
    plain, pipelined = CodecConfig(), CodecConfig(pipelined=True)
    assert decompress_packet(words, plain).cost == -(-(32 + 40 + last) // 8)
    assert decompress_packet(words, pipelined).cost == -(-(32 + 33 + 32) // 8)
    assert compress_packet(words, pipelined).cost == compress_packet(words, plain).cost
    # A last window whose stream is longer than what it stands for is not cheaper either.
    dense = np.ones(32 + last, np.uint32)
    assert decompress_packet(dense, pipelined).cost == -(-(33 + max(32, 1 + last)) // 8)
    assert decompress_packet(dense, pipelined).beats == decompress_packet(dense, plain).beats


def test_a_packet_cut_short_ends_with_an_empty_beat() -> None:
    config = CodecConfig()
    stream = np.array([0xFFFFFFFF, *range(1, 21)], np.uint32)
    packet = corrupt_packet(stream, 64, config)
    assert packet.report.error == 1
    assert packet.expected is not None
    assert [(beat.keep, beat.last) for beat in packet.expected] == [
        (0xFFFFFFFF, False),
        (0xFFFFFFFF, False),
        (0, True),
    ]


def test_never_first_waits_for_the_other_side() -> None:
    pause = PATTERNS["never_first"](random.Random(1))
    assert all(pause(False) for _ in range(50))
    assert not pause(True)
    assert pause(True)


def test_spelling() -> None:
    design = CodecDesign("compressor")
    stream = Speller(design, raw=False)
    # Header with three literals, these, then the header of an empty window.
    data = 0b111 | 9 << 32 | 8 << 64 | 7 << 96 | 0 << 128
    assert stream.beat(data, (1 << 20) - 1, True) == "HLLLH---"
    raw = Speller(design, raw=True)
    assert raw.beat(1 | 1 << 96, (1 << 32) - 1, False) == "L..L...."
    wide = Speller(CodecDesign("compressor", CodecConfig(Format(8), 32)), raw=True)
    assert wide.beat(0x010001, (1 << 32) - 1, False) == "2L 30."


def test_spelling_of_fields_and_padding() -> None:
    form = Format(16, 8, 3, (127,), field_bits=8, rotate=1, zero=True, align=4)
    speller = Speller(CodecDesign("compressor", CodecConfig(form, 4)), raw=False)
    # A header of three bytes: a zero word, one with a frequent exponent, one literal, zero words. Then its three bytes, and
    # two of padding.
    data = (1 << 3 | 7 << 6) | 0xAB << 24 | 0xCDEF << 32
    assert speller.beat(data, (1 << 8) - 1, True) == "HHHLLLPP"
