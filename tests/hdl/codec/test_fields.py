"""Codecs of fields in Amaranth's simulator: any configuration, packets with and without pauses, and the bound."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.hdl.spec.codec import CodecConfig
from tests.support.codec_bench import compress_packets
from tests.support.field_packets import field_configs, field_words


def _lengths(source: random.Random, config: CodecConfig) -> list[int]:
    window, lanes = config.format.window, config.lanes
    return [
        source.choice((1, lanes + 1, window, window + 1, source.randrange(1, 3 * window))) for _ in range(4)
    ]


@given(field_configs(), st.integers(0, 2**32), st.sampled_from([0, 0.4]))
@settings(max_examples=25, deadline=None)
def test_compressor(config: CodecConfig, seed: int, pauses: float) -> None:
    source = random.Random(seed)
    packets = [field_words(source, config.format, length) for length in _lengths(source, config)]
    compress_packets(config, packets, pauses=pauses, seed=seed)
