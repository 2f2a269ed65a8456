"""Pipelined codecs of fields, of padded windows and of codes of three bits in Amaranth's simulator."""

from __future__ import annotations

import random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from tests.support.codec_bench import compress_packets, decompress_packets
from tests.support.codec_packets import corrupt, stream_of
from tests.support.field_packets import field_words, packet_lengths, pipelined_configs

#: Without shrinking, which would simulate for minutes; the seed is small enough to start from.
QUICK = settings(max_examples=6, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])

#: Fields of both words, padding with and without a field, codes of three bits whose header is longer than a beat.
CONFIGS = {
    "bf16": CodecConfig(Format.preset("bf16"), 4, pipelined=True),
    "fp32": CodecConfig(Format.preset("fp32"), 4, pipelined=True),
    "aie-ml": CodecConfig(Format.preset("aie-ml"), 8, pipelined=True),
    "bf16, padded": CodecConfig(
        Format(16, 32, 3, (127, 126), field_bits=8, rotate=1, zero=True, align=4), 8, pipelined=True
    ),
    "three bits": CodecConfig(Format(16, 32, 3, (0, 7)), 4, pipelined=True),
    "three bits, of six": CodecConfig(Format(32, 64, 3, (0, 7)), 8, pipelined=True),
}


def _compress(config: CodecConfig, seed: int, pauses: float) -> None:
    source = random.Random(seed)
    packets = [field_words(source, config.format, length) for length in packet_lengths(source, config, 5)]
    compress_packets(config, packets, pauses=pauses, seed=seed)


def _decompress(config: CodecConfig, seed: int, pauses: float) -> None:
    source = random.Random(seed)
    packets = []
    for length in packet_lengths(source, config, 5):
        words = field_words(source, config.format, length)
        whole = (stream_of(words, config), length)
        packets += [whole, corrupt(config, source, whole)]
    decompress_packets(config, packets, pauses=pauses, seed=seed)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("pauses", [0, 0.4])
def test_compresses(config: CodecConfig, pauses: float) -> None:
    _compress(config, 1, pauses)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("pauses", [0, 0.4])
def test_decompresses(config: CodecConfig, pauses: float) -> None:
    _decompress(config, 1, pauses)


@given(pipelined_configs(), st.integers(0, 2**32), st.sampled_from([0, 0.4]))
@QUICK
def test_any_compressor(config: CodecConfig, seed: int, pauses: float) -> None:
    _compress(config, seed, pauses)


@given(pipelined_configs(), st.integers(0, 2**32), st.sampled_from([0, 0.4]))
@QUICK
def test_any_decompressor(config: CodecConfig, seed: int, pauses: float) -> None:
    _decompress(config, seed, pauses)
