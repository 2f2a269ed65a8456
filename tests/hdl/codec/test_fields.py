"""Codecs of fields and of padded windows in Amaranth's simulator: any configuration, with and without pauses."""

import random

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cdma.hdl.spec.codec import CodecConfig
from tests.support.codec_bench import compress_packets, decompress_packets
from tests.support.codec_packets import corrupt, stream_of
from tests.support.field_packets import field_configs, field_words, packet_lengths, padded_configs

#: Without shrinking, which would simulate for minutes; the seed is small enough to start from.
QUICK = settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])


@given(st.one_of(field_configs(), padded_configs()), st.integers(0, 2**32), st.sampled_from([0, 0.4]))
@QUICK
def test_compressor(config: CodecConfig, seed: int, pauses: float) -> None:
    source = random.Random(seed)
    packets = [field_words(source, config.format, length) for length in packet_lengths(source, config, 4)]
    compress_packets(config, packets, pauses=pauses, seed=seed)


@given(st.one_of(field_configs(), padded_configs()), st.integers(0, 2**32), st.sampled_from([0, 0.4]))
@QUICK
def test_decompressor(config: CodecConfig, seed: int, pauses: float) -> None:
    source = random.Random(seed)
    packets = []
    for length in packet_lengths(source, config, 4):
        words = field_words(source, config.format, length)
        whole = (stream_of(words, config), length)
        packets += [whole, corrupt(config, source, whole)]
    decompress_packets(config, packets, pauses=pauses, seed=seed)
