"""The classifier against the table, word by word. Compressor and decompressor in Amaranth's simulator: latency, cycles,
malformed beats, and packets that follow a corrupt one while the output stands still. The regression has all else.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.codec.parts.codes import Classifier
from cdma.hdl.codec.parts.interface import Error
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.headers import packing_cycles
from cdma.sim.codec.unpacking import unpacking_cycles
from tests.support.codec_bench import (
    CODECS,
    MALFORMED,
    STANDARDS,
    Stream,
    compress_packets,
    decompress_packets,
    random_words,
    stream_of,
)
from tests.support.simulate import simulate
from tests.support.stimuli import sometimes
from tests.support.stream_bench import StreamBench, beats_of


@pytest.mark.parametrize("config", STANDARDS)
def test_latency_of_a_dense_window(config: CodecConfig) -> None:
    (passed,) = compress_packets(config, [[1] * 64])
    assert passed.latency == (14 if config.pipelined else 4)


@pytest.mark.slow
@pytest.mark.parametrize("queue", [0, 1, 2])
@pytest.mark.parametrize(
    "name", ["the standard", "one lane, header of sixteen beats", "one queued beat, window of a beat"]
)
def test_cycles_are_those_of_the_model(name: str, queue: int) -> None:
    config = replace(CODECS[name], queue=queue)
    source = random.Random(f"{name} {queue}")
    window = config.format.window
    arrives = max(config.beats - 1, (config.lanes.bit_length() + 3) // 2)
    literal = next(word for word in range(1, 4) if word not in config.format.values)
    packets = [random_words(source, config, count, 0.7) for count in (1, window - 1, 4 * window + 3)]
    # Windows that fill whole beats: the last of them must not stay behind and meet the next header.
    literals = max(0, window - config.format.header_words)
    packets.append(([literal] * literals + [config.format.values[0]] * (window - literals)) * 4)
    for words, passed in zip(packets, compress_packets(config, packets), strict=True):
        stored = ~np.isin(words, config.format.values)
        assert passed.cycles == arrives + packing_cycles(stored, config) + (queue == 1)


def test_groups_of_a_beat_leave_in_successive_cycles() -> None:
    """Each packet is a group; more of them are in the pipeline than in that of most configurations."""
    config = CodecConfig(Format(32, 64, levels=2, group=64), 4)
    bench = StreamBench(Compressor(config))
    bench.source("input", beats_of([0], 4) * 60)
    bench.collect("report", 60)
    packets = bench.packets("output", 60)
    bench.run(400)
    assert [packet.words for packet in packets] == [[0, 0]] * 60
    assert packets[-1].cycles[-1] - packets[0].cycles[0] == 59


@pytest.mark.parametrize("config", STANDARDS)
@pytest.mark.parametrize(("keep", "last"), MALFORMED)
def test_malformed_beat_is_reported(config: CodecConfig, keep: int, last: int) -> None:
    bench = StreamBench(Compressor(config))
    bad = [{"data": [1] * 8, "keep": keep, "last": last}]
    if not last:
        bad += beats_of([5] * 11, 8)
    bench.source("input", bad + beats_of([9, 0, 3], 8))
    received = bench.packets("output", 2)
    reports = bench.collect("report", 2)
    bench.run(300)
    assert [report.error for _, report in reports] == [Error.BEAT, Error.NONE]
    assert [report.words_out for _, report in reports] == [len(packet.words) for packet in received]
    assert received[1].words == stream_of([9, 0, 3], config)


@pytest.mark.parametrize("values", [(0, 1, 7), (3, 3, 0), (5,)])
@pytest.mark.parametrize("runtime", [False, True])
@pytest.mark.parametrize("pipelined", [False, True])
def test_lowest_equal_entry_wins(values: tuple[int, ...], runtime: bool, pipelined: bool) -> None:
    # Of 8 bits, so that several parts of a word are compared; each word that there is is.
    config = CodecConfig(Format(8, 8, 2, tuple(17 * value for value in values)), 4, runtime)
    dut = Classifier(config, pipelined=pipelined)
    table = [17 * value for value in values] + [17 * values[0]] * (config.table_size - len(values))

    async def check(ctx: Any) -> None:
        if runtime:
            ctx.set(dut.values, table)
        for base in range(0, 256, 4):
            words = [base + lane for lane in range(4)]
            for keep in (0, 0b1001, 0b1111):
                ctx.set(dut.data, words)
                ctx.set(dut.keep, keep)
                if pipelined:
                    await ctx.tick()
                else:
                    await ctx.delay(1e-9)
                for lane, word in enumerate(words):
                    code = table.index(word) if word in table else 3
                    assert ctx.get(dut.codes[lane]) == (code if keep >> lane & 1 else 0)

    simulate(dut, check)


PIPELINED = STANDARDS[1].values[0]


@pytest.mark.parametrize("config", STANDARDS)
def test_latency_of_decompressing_a_dense_window(config: CodecConfig) -> None:
    (passed,) = decompress_packets(config, [(stream_of([1] * 64, config), 64)])
    assert passed.latency == (22 if config.pipelined else 2)


@pytest.mark.parametrize(
    "number",
    ["the standard", "header of four beats", "no queue, one lane", "one queued beat, window of a beat"],
)
def test_cycles_with_one_stored_beat_are_those_of_the_model(number: str) -> None:
    config = replace(CODECS[number], queue=0)
    source = random.Random(number)
    window = config.format.window
    packets = [
        random_words(source, config, count, source.choice([0.5, 0.9, 1]))
        for count in (1, window - 1, 5 * window, source.randrange(1, 4 * window))
    ]
    given = [(stream_of(words, config), len(words)) for words in packets]
    for words, passed in zip(packets, decompress_packets(config, given), strict=True):
        assert passed.cycles == unpacking_cycles(~np.isin(words, config.format.values), config)


@pytest.mark.slow
def test_a_packet_after_a_truncated_header_is_whole() -> None:
    """The packet after it fills the memories while its header is not read, because the output stands still."""
    config = CODECS["pipelined, header of a beat"]
    fmt = config.format
    source = random.Random(1)
    packets: list[Stream] = []
    for windows, missing in ((1, 1), (2, 8), (3, 1)):
        length = (windows + 1) * fmt.window
        dense = random_words(source, config, length, 1)
        whole = stream_of(dense[: windows * fmt.window], config)
        cut = stream_of(dense, config)[: len(whole) + fmt.header_words - missing]
        packets += [(cut, length), (stream_of(dense * 2, config), 2 * length)]
    decompress_packets(config, packets, {"output": sometimes(1, 0.97)})


@pytest.mark.slow
def test_leftover_words_are_dropped_while_the_output_stalls() -> None:
    """The end of a packet is known and fills the memories while its output waits; then another packet comes."""
    zeros = [0] * 8 * PIPELINED.format.window
    stream, good = stream_of(zeros, PIPELINED), [9, 0, 3]
    bench = StreamBench(Decompressor(PIPELINED))
    beats = range(26, 36)
    packets = [(stream + [7] * (8 * size - len(stream)), stream_of(good, PIPELINED)) for size in beats]
    bench.source("input", [beat for pair in packets for packet in pair for beat in beats_of(packet, 8)])
    bench.source("length", [len(zeros), len(good)] * len(beats))
    waited: Counter[int] = Counter()

    def stalls() -> bool:
        """For 150 cycles before each packet that is too long, until the input is full."""
        waited[len(received)] += 1
        return len(received) % 2 == 1 and waited[len(received)] <= 150

    received = bench.packets("output", 2 * len(beats), stalls)
    reports = bench.collect("report", 2 * len(beats))
    bench.run(6000)
    assert [packet.words for packet in received] == [zeros, good] * len(beats)
    assert [report.error for _, report in reports] == [Error.TRAILING, Error.NONE] * len(beats)
