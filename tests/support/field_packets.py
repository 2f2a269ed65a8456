"""Configurations with field codes, and packets for them, as Hypothesis draws them."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import strategies as st

from cdma.base.errors import ParameterError
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format

__all__ = ["field_configs", "field_words", "packet_lengths", "padded_configs", "pipelined_configs"]


@st.composite
def field_configs(draw: st.DrawFn) -> CodecConfig:
    """Any word, field, rotation, code and table, with 1 to 16 lanes; beats of at most 32 bytes, which simulate quickly."""
    word_bits = draw(st.sampled_from([16, 32]))
    field_bits = draw(st.sampled_from(range(8, word_bits, 8)))
    code_bits = draw(st.integers(1, 4))
    window = draw(st.sampled_from([n for n in (4, 8, 16, 32) if n * code_bits % 8 == 0]))
    zero = draw(st.booleans())
    most = (1 << code_bits) - 1 - zero
    sizes = (0 if zero else 1, min(most, 4))
    field = st.one_of(st.integers(0, 3), st.integers(0, (1 << field_bits) - 1))
    values = draw(st.lists(field, min_size=sizes[0], max_size=sizes[1]))
    rotate = draw(st.one_of(st.just(1), st.integers(0, word_bits - 1)))
    form = Format(word_bits, window, code_bits, tuple(values), field_bits, rotate, zero)
    lanes = [n for n in (1, 2, 4, 8, 16) if n <= window and n * word_bits <= 256]
    return CodecConfig(form, draw(st.sampled_from(lanes)))


@st.composite
def padded_configs(draw: st.DrawFn) -> CodecConfig:
    """Padded windows, with a field or without one."""
    config = draw(field_configs())
    form = config.format
    if draw(st.booleans()):
        bits = draw(st.sampled_from([8, 16, 32]))
        windows = [n for n in (8, 16, 32) if n * form.code_bits % bits == 0]
        if windows:
            form = Format(bits, draw(st.sampled_from(windows)), form.code_bits, (0,))
    form = replace(form, align=draw(st.sampled_from([2, 4, 8])))
    lanes = [n for n in (1, 2, 4, 8, 16) if n <= form.window and form.align * 8 <= n * form.word_bits <= 256]
    # The longest windows have beats of every length.
    return CodecConfig(form, draw(st.sampled_from(lanes))) if lanes else CodecConfig(Format(8, align=4), 4)


@st.composite
def pipelined_configs(draw: st.DrawFn) -> CodecConfig:
    """Pipelined codecs of a field with zero words, of padded windows, or of codes of three bits."""
    config = draw(
        st.one_of(field_configs(), padded_configs(), st.builds(_of_three_bits, st.sampled_from([8, 16, 32])))
    )
    form, lanes = config.format, config.lanes
    if form.field_bits and not form.zero:
        # A header is whole bytes, which four codes of three bits are not.
        form = replace(form, window=max(form.window, 8), code_bits=3, values=form.values[:6], zero=True)
    while 4 * lanes > form.window:
        form = replace(form, window=2 * form.window) if form.window < 32 else form
        lanes = min(lanes, form.window // 4)
    while True:
        try:
            return CodecConfig(form, lanes, pipelined=True)
        except ParameterError:
            # A beat is too short for a header and padding.
            form = replace(form, align=1)


def _of_three_bits(word_bits: int) -> CodecConfig:
    return CodecConfig(Format(word_bits, 32, 3, (0, 1, 5)), 4)


def field_words(source: random.Random, form: Format, count: int) -> list[int]:
    """``count`` words: zeros, words with a frequent field, and others, in random shares."""
    shares = [source.choice([0, 1, 3]) for _ in range(3)]
    shift = form.word_bits - form.entry_bits

    def word(kind: int) -> int:
        if kind == 0:
            return 0
        turned = source.getrandbits(form.word_bits)
        if kind == 1 and form.values:
            turned = turned & ((1 << shift) - 1) | source.choice(form.values) << shift
        right = form.rotate % form.word_bits
        return (turned >> right | turned << (form.word_bits - right)) & ((1 << form.word_bits) - 1)

    return [word(kind) for kind in source.choices(range(3), shares if any(shares) else [1, 1, 1], k=count)]


def packet_lengths(source: random.Random, config: CodecConfig, count: int) -> list[int]:
    """``count`` lengths of packets, often those at the end of a beat or of a window."""
    window, lanes = config.format.window, config.lanes
    return [
        source.choice((1, lanes + 1, window, window + 1, source.randrange(1, 3 * window)))
        for _ in range(count)
    ]
