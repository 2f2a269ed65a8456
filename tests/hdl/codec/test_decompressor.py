"""The words left of a packet of any length, in both kinds of decompressors: against a number that is counted down. The
queues of finished beats, in flip-flops and in memories: against a list of what went in.

The decompressor in Amaranth's simulator: the model's words and reports for whole and corrupt packets, the contract.

The regression has the same with more packets, more shapes and the whole contract, under Verilator.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cdma.hdl.codec.generate import Decompressor
from cdma.hdl.codec.parts.interface import Error
from cdma.hdl.codec.pipelined import header_check as pipelined
from cdma.hdl.codec.pipelined.compressor import BeatMemory
from cdma.hdl.codec.plain import planner as plain
from cdma.hdl.codec.plain.compressor import BeatQueue
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.unpacking import unpacking_cycles
from cdma.verif.stream.codec.codec_bench import BENCH
from tests.support.codec_bench import (
    CODECS,
    LOADS,
    MALFORMED,
    STANDARDS,
    Stream,
    corrupt,
    decompress_packets,
    fault_pairs,
    in_phases,
    random_words,
    stream_of,
    streams,
    windows_of_beats,
    work,
)
from tests.support.simulate import simulate
from tests.support.stimuli import PAIRS, WILLING, sometimes
from tests.support.stream_bench import StreamBench, beats_of

PIPELINED = STANDARDS[1].values[0]


@pytest.mark.slow
@pytest.mark.parametrize("config", CODECS.values(), ids=CODECS)
def test_whole_and_corrupt_packets(config: CodecConfig) -> None:
    """Short ones and long ones, while every stream rests in phases of its own."""
    source = random.Random(str(config))
    packets = [
        corrupt(config, source, packet) if number % 3 else packet
        for number, packet in enumerate(streams(config, source, 24))
    ]
    decompress_packets(config, packets, in_phases(str(config)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "the standard",
        "header of four beats",
        "one queued beat, header of a beat",
        "pipelined",
        "pipelined, header of a beat",
        "pipelined, one lane, window of four words",
    ],
)
def test_of_two_faults_the_first_is_reported(name: str) -> None:
    decompress_packets(CODECS[name], fault_pairs(CODECS[name]), {})


@pytest.mark.slow
@pytest.mark.parametrize("config", STANDARDS)
def test_bound(config: CodecConfig) -> None:
    """With a row too few, two dense windows, and one that makes the sum a whole number of beats, cost a cycle each time."""
    loads = [*LOADS, [[8, 8, 8, 8], [8, 8, 8, 8], [5, 0, 0, 0]]]
    packets = [windows_of_beats(config, [[6, 0, 0, 0], *patterns * 8]) for patterns in loads]
    limits = BENCH.limits(config, "decompressor")
    given = [(stream_of(words, config), len(words)) for words in packets]
    for words, passed in zip(packets, decompress_packets(config, given), strict=True):
        assert passed.cycles <= work(config, words) / config.lanes + limits.constant


@pytest.mark.parametrize("config", STANDARDS)
def test_latency_of_a_dense_window(config: CodecConfig) -> None:
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
@pytest.mark.parametrize("config", STANDARDS)
@pytest.mark.parametrize(("keep", "last"), MALFORMED)
def test_malformed_beat_is_reported(config: CodecConfig, keep: int, last: int) -> None:
    bench = StreamBench(Decompressor(config))
    bad = [{"data": [3] * 8, "keep": keep, "last": last}]
    if not last:
        bad += beats_of([1] * 8, 8)
    bench.source("input", bad + beats_of(stream_of([9, 0, 3], config), 8))
    bench.source("length", [20, 3])
    received = bench.packets("output", 2)
    reports = bench.collect("report", 2)
    bench.run(300)
    assert [report.error for _, report in reports] == [Error.BEAT, Error.NONE]
    assert [report.words_out for _, report in reports] == [len(packet.words) for packet in received]
    assert received[1].words == [9, 0, 3]


@pytest.mark.slow
def test_reports_that_wait_stop_the_next_packets() -> None:
    """More packets come than reports can wait; none is lost, and none waits for ever."""
    source = random.Random(1)
    packets = []
    for number in range(40):
        words = random_words(source, PIPELINED, source.randint(1, 12), 0.5)
        packet = (stream_of(words, PIPELINED), len(words))
        packets.append(corrupt(PIPELINED, source, packet) if number % 2 else packet)
    decompress_packets(PIPELINED, packets, {"report": sometimes(1, 0.95)})


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


CONFIGS = [
    CodecConfig(lanes=8, pipelined=True),
    CodecConfig(Format(8, 32, 2, (0, 1)), 1, pipelined=True),
    CodecConfig(Format(16, 64, 2, (0, 1, 2)), 16, pipelined=True),
]


def thermometer(value: int) -> int:
    return (1 << value) - 1


@pytest.mark.parametrize(("lanes", "beats"), [(1, 8), (4, 4), (8, 4), (8, 1), (16, 2)])
def test_plain_the_last_beat_and_the_rest_of_a_window_are_known(lanes: int, beats: int) -> None:
    """In every cycle, with a beat in each or with pauses, and with packets that end early."""
    rng = random.Random(lanes)
    dut = plain.WordsLeft(lanes, beats)

    async def check(ctx: Any) -> None:
        left, known = 0, False
        eager = 1.0
        for cycle in range(3000):
            if cycle % 50 == 0:
                eager = rng.choice([0.3, 0.9, 1.0])
            length = rng.choice([rng.randrange(1, 40 * lanes), rng.randrange(2**20), 2**32 - 1, 8 * lanes])
            last = known and left <= lanes
            taken = known and rng.random() < eager
            loads = not known or (taken and last)
            ctx.set(dut.unknown, not known)
            ctx.set(dut.loads, loads)
            ctx.set(dut.counts, taken and not last)
            ctx.set(dut.holds, known and not taken)
            ctx.set(dut.length, length)
            if known:
                near, only_near, more = (ctx.get(value) for value in (dut.near, dut.only_near, dut.more))
                assert (only_near and near <= lanes) == last
                assert not last or near == left
                assert [more or near > word for word in range((beats - 1) * lanes)] == [
                    left > word for word in range((beats - 1) * lanes)
                ]
            await ctx.tick()
            if loads:
                left, known = length, rng.random() < 0.8
            elif taken:
                left -= lanes
                known = rng.random() < 0.99

    simulate(dut, check)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_pipelined_the_words_of_a_window_are_known(config: CodecConfig) -> None:
    window, lanes = config.format.window, config.lanes
    dut = pipelined.WordsLeft(config)
    source = random.Random(str(config))
    marks = [lanes, window, 2 * window, 3 * window]
    lengths = [
        0,
        1,
        *(mark + step for mark in marks for step in (-1, 0, 1)),
        2**32 - 1,
        2**31,
        2**31 + window,
    ]
    lengths += [source.randint(0, 6 * window) for _ in range(30)]

    async def check(ctx: Any) -> None:
        for length in lengths:
            assert ctx.get(dut.length.ready)
            assert not ctx.get(dut.known)
            ctx.set(dut.length.payload, length)
            await ctx.tick().repeat(source.randint(1, 3))
            assert not ctx.get(dut.known)
            ctx.set(dut.length.valid, 1)
            await ctx.tick()
            # Another length waits.
            ctx.set(dut.length.payload, 77)
            left = length
            gives_up = source.randint(1, 12)
            while True:
                assert ctx.get(dut.known)
                assert not ctx.get(dut.length.ready)
                await ctx.tick()
                here = min(left, window)
                assert ctx.get(dut.nothing) == (left == 0)
                assert ctx.get(dut.final) == (left <= window)
                assert ctx.get(dut.exists) == thermometer(here)
                if here:
                    assert ctx.get(dut.more) == thermometer(-(-here // lanes) - 1)
                    assert ctx.get(dut.words) == (here - 1) % lanes
                # The outputs hold.
                for _ in range(source.randint(0, 2)):
                    await ctx.tick()
                assert ctx.get(dut.exists) == thermometer(here)
                gives_up -= 1
                if left <= window or not gives_up:
                    break
                ctx.set(dut.next, 1)
                await ctx.tick()
                ctx.set(dut.next, 0)
                left -= window
            ctx.set(dut.done, 1)
            ctx.set(dut.length.valid, 0)
            await ctx.tick()
            ctx.set(dut.done, 0)

    simulate(dut, check)


#: Cycles for which both sides stay equally willing.
PHASE = 120


def _queue(depth: int | None, lanes: int) -> tuple[BeatQueue | BeatMemory, int]:
    """One of so many beats in flip-flops or else in a memory, and the cycles that a beat takes through the empty one."""
    config = CodecConfig(Format(8, 32), lanes)
    return (BeatQueue(config, depth), 1) if depth else (BeatMemory(config), 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("depth", "lanes", "pairs"),
    [
        (2, 4, 0.5),
        (3, 4, 0),
        (3, 1, 0.5),
        (2, 4, 1),
        (None, 4, 0),
        (None, 1, 0.5),
        (None, 4, 0.5),
        (None, 4, 1),
    ],
)
def test_beats_come_out_as_they_went_in(depth: int | None, lanes: int, pairs: float) -> None:
    """In the first cycle in which they can. ``pairs`` is the share of beats that go in two at a time."""
    dut, latency = _queue(depth, lanes)
    source = random.Random(repr((depth, lanes, pairs)))

    async def check(ctx: Any) -> None:
        expected: list[tuple[int, list[int], int, bool]] = []
        left = cycle = -1
        for writes, reads in PAIRS:
            out = 0
            for _ in range(PHASE):
                cycle += 1
                ctx.set(dut.output.ready, WILLING[reads](source, cycle))
                number = (2 if source.random() < pairs else 1) if WILLING[writes](source, cycle) else 0
                ends = number > 0 and source.random() < 0.2
                count = source.randrange(lanes)
                rows = [[source.getrandbits(8) for _ in range(lanes)] for _ in range(2)]
                # Rows that are not pushed hold anything.
                last = source.getrandbits(2) >> number << number
                if ends:
                    last |= 1 << (number - 1)
                ctx.set(dut.push, (1 << number) - 1)
                ctx.set(dut.rows, rows)
                ctx.set(dut.last, last)
                ctx.set(dut.count, count)
                fires = ctx.get(dut.available) and (writes == "always" or source.random() < 0.9)
                ctx.set(dut.fire, fires)

                valid = bool(expected) and cycle >= max(expected[0][0] + latency, left + 1)
                assert ctx.get(dut.output.valid) == valid, f"cycle {cycle}"
                if valid:
                    _, words, keep, is_last = expected[0]
                    beat = ctx.get(dut.output.payload)
                    assert (beat.keep, beat.last) == (keep, is_last), f"cycle {cycle}"
                    assert [word for lane, word in enumerate(beat.data) if keep >> lane & 1] == words
                    if ctx.get(dut.output.ready):
                        expected.pop(0)
                        left = cycle
                        out += 1
                for row in range(number if fires else 0):
                    is_last = bool(last >> row & 1)
                    size = count + 1 if is_last else lanes
                    expected.append((cycle, rows[row][:size], (1 << size) - 1, is_last))
                await ctx.tick()
            if writes == reads == "always" and pairs:
                # More go in than can come out: it is never empty.
                assert out >= PHASE - 2 * latency - 2
            assert out

    simulate(dut, check)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("depth", [2, 3, None])
def test_every_entry_is_used(depth: int | None, number: int) -> None:
    """All but a single entry that is left for two beats. The credit of the one in memory is a register: it keeps entries
    for the beats of two cycles back, and learns late that only one was pushed."""
    dut, _ = _queue(depth, 2)
    least, most = (depth - depth % number,) * 2 if depth else (27, 32)

    async def check(ctx: Any) -> None:
        gone = 0
        ctx.set(dut.push, (1 << number) - 1)
        ctx.set(dut.last, 0)
        for _ in range(50):
            ctx.set(dut.rows, [[gone, 0], [gone + 1, 0]])
            fires = ctx.get(dut.available)
            ctx.set(dut.fire, fires)
            gone += number * fires
            await ctx.tick()
        assert least <= gone <= most
        ctx.set(dut.fire, 0)
        ctx.set(dut.output.ready, 1)
        for beat in range(gone):
            while not ctx.get(dut.output.valid):
                await ctx.tick()
            assert ctx.get(dut.output.payload.data[0]) == beat
            await ctx.tick()
        assert not ctx.get(dut.output.valid)

    simulate(dut, check)
