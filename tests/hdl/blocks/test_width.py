"""Beats that become wider or narrower keep the words of their packets, in order."""

from __future__ import annotations

import random

import pytest

from cdma.hdl.blocks.width import Narrow, Widen
from tests.support.pauses import by_phases
from tests.support.stream_bench import StreamBench, beats_of


@pytest.mark.parametrize(
    ("adapter", "lanes_in", "lanes_out"), [(Widen, 2, 8), (Widen, 4, 8), (Narrow, 8, 2), (Narrow, 8, 4)]
)
def test_packets_of_every_length(adapter, lanes_in, lanes_out):
    packets = [
        [random.Random(length).getrandbits(8) for _ in range(length)] for length in [*range(1, 25), 70]
    ]
    bench = StreamBench(adapter(8, lanes_in, lanes_out))
    bench.source("input", [beat for words in packets for beat in beats_of(words, lanes_in)], by_phases("in"))
    got = bench.packets("output", len(packets), by_phases("out"))
    bench.run(5000)
    assert [packet.words for packet in got] == packets
