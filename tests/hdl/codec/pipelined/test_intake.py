"""The input beats that a pipelined decompressor still needs: against a list of all beats."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from cdma.hdl.codec.pipelined.intake import Intake
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from tests.support.pauses import WILLING
from tests.support.simulate import simulate

CONFIGS = [
    CodecConfig(Format(8, 32), 8, pipelined=True),
    CodecConfig(Format(8, 32, 4, (0, 1)), 2, pipelined=True),
    CodecConfig(Format(8, 32), 1, pipelined=True),
]
#: Cycles after which a beat that came can be read, and a packet's end is known.
KNOWN = 5


@dataclass
class Sent:
    """A packet: its beats, and its end, counted in words from the very first beat on.

    A packet whose last beat is malformed may end anywhere in that, from ``earliest`` to ``end``. With any malformed beat it
    may have any number of words.
    """

    beats: list[dict[str, Any]] = field(default_factory=list)
    earliest: int = 0
    end: int = 0
    next: int = 0
    words: int = 0
    malformed: bool = False


def packets(config: CodecConfig, source: random.Random, rows: int, number: int) -> list[Sent]:
    lanes = config.lanes
    sent = []
    first = 0
    for _ in range(number):
        packet = Sent()
        size = source.choice([1, 1, 2, source.randint(1, 8), source.randint(1, 2 * rows)])
        for beat in range(size):
            last = beat == size - 1
            keep = (1 << (source.randint(1, lanes) if last else lanes)) - 1
            if source.random() < 0.01:
                keep = source.getrandbits(lanes)
            count = keep.bit_count()
            malformed = keep != (1 << count) - 1 or not keep or (not last and count < lanes)
            packet.malformed |= malformed
            packet.words += count
            packet.beats.append(
                {"data": [source.getrandbits(8) for _ in range(lanes)], "keep": keep, "last": int(last)}
            )
        before = (first + size - 1) * lanes
        # Of the last beat.
        packet.earliest, packet.end = (
            (before, before + lanes) if malformed else (before + count, before + count)
        )
        first += size
        packet.next = first
        sent.append(packet)
    return sent


@pytest.mark.parametrize(
    ("writes", "frees", "pops"),
    [
        ("always", "always", "always"),
        ("always", "half", "half"),
        ("half", "mostly", "always"),
        ("always", "by turns", "always"),
        ("mostly", "mostly", "seldom"),
        ("seldom", "always", "half"),
        ("by turns", "by other turns", "mostly"),
    ],
)
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_words_can_be_read_until_they_are_freed(
    config: CodecConfig, writes: str, frees: str, pops: str
) -> None:
    dut = Intake(config)
    lanes, rows = config.lanes, dut.rows
    source = random.Random(f"{config} {writes} {frees} {pops}")
    sent = packets(config, source, rows, 60)
    beats = [beat for packet in sent for beat in packet.beats]
    modulus = 2 * rows * lanes

    def word(place: int) -> int:
        return beats[place // lanes]["data"][place % lanes]

    def number_of(place: Any) -> int:
        return place.beat * lanes + (place.lane if lanes > 1 else 0)

    async def check(ctx: Any) -> None:
        # The cycles in which beats came; the oldest packet; the oldest beat that each reader needs; what they must find.
        came: list[int] = []
        oldest, start = 0, 0
        needed = [0, 0]
        popped, reach = -1, 0
        wanted: list[dict[int, int]] = [{}, {}]
        offers = False
        cycle = 0
        while oldest < len(sent):
            assert cycle < 40000
            packet = sent[oldest]
            for reader in range(2):
                found = ctx.get(dut.words[reader])
                for lane, value in wanted[reader].items():
                    assert found[lane] == value, f"cycle {cycle}, reader {reader}, lane {lane}"

            # What is known of the oldest packet.
            # A reach that went back would look like one that went ahead by nearly the whole range.
            reach += (number_of(ctx.get(dut.reach)) - reach) % modulus
            ended = bool(ctx.get(dut.ended))
            assert reach <= min(packet.end, len(came) * lanes), f"cycle {cycle}"
            if popped == cycle - 1:
                assert not ended
                assert reach <= start * lanes
            if ended:
                end = ctx.get(dut.end)
                assert packet.earliest <= reach <= packet.end
                assert number_of(end.place) == reach % modulus
                assert end.next == packet.next % (2 * rows)
                assert end.malformed == packet.malformed
                assert end.words == packet.words or packet.malformed
            if popped < cycle - 2:
                early = sum(when <= cycle - KNOWN for when in came[start : packet.next])
                assert reach >= min((start + early) * lanes, packet.earliest)
                assert ended or early < len(packet.beats)

            # One reader reads from anywhere, and one from the oldest beat.
            for reader in range(2):
                low, high = needed[reader] * lanes, reach
                reads = high > low and source.random() < 0.8
                ctx.set(dut.read[reader], reads)
                place = source.randrange(low, high) if reads and not reader else low
                beat, lane = place // lanes, place % lanes
                ctx.set(dut.place[reader], {"lane": lane, "beat": beat % (2 * rows)})
                ctx.set(dut.above[reader], (beat + 1) % (2 * rows))
                if reads:
                    there = range(place, min(place + lanes, high))
                    wanted[reader] = {at % lanes: word(at) for at in there}
                elif wanted[reader] and source.random() < 0.5:
                    wanted[reader] = {}

            pop = ended and WILLING[pops](source, cycle)
            ctx.set(dut.pop, pop)
            if len(came) < len(beats) and not offers and WILLING[writes](source, cycle):
                ctx.set(dut.input.payload, beats[len(came)])
                offers = True
            ctx.set(dut.input.valid, offers)
            ready = ctx.get(dut.input.ready)
            if offers and ready:
                came.append(cycle)
                offers = False
                assert len(came) - needed[0] <= dut.header_rows, f"cycle {cycle}"
                assert len(came) - needed[1] <= rows, f"cycle {cycle}"
            if (writes, frees, pops) == ("always", "always", "always") and packet.next - start > 8:
                # Only many short packets may hold the input up.
                assert ready or len(came) - packet.next > 4
            await ctx.tick()
            cycle += 1
            if pop:
                popped = cycle - 1
                oldest += 1
                start = packet.next
            for reader, oldest_needed in enumerate((dut.past, dut.free)):
                low, high = needed[reader], reach // lanes
                if WILLING[frees](source, cycle) and high > low:
                    needed[reader] = high if frees == "always" else source.randint(low, high)
                    ctx.set(oldest_needed, needed[reader] % (2 * rows))
                    wanted[reader] = {}
                # The number counts in that cycle alone, and only of the reader of headers.
                if not reader:
                    moves = needed[0] > low
                    ctx.set(dut.passes, moves)
                    if not moves:
                        ctx.set(dut.past, source.randrange(2 * rows))
        assert len(came) == len(beats)

    simulate(dut, check)


@pytest.mark.parametrize("reader", ["header", "words"])
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_it_fills_up_and_no_further(config: CodecConfig, reader: str) -> None:
    dut = Intake(config)
    rows = dut.header_rows if reader == "header" else dut.rows

    async def check(ctx: Any) -> None:
        came = 0
        ctx.set(dut.input.payload, {"data": [0] * config.lanes, "keep": (1 << config.lanes) - 1, "last": 0})
        ctx.set(dut.input.valid, 1)
        for _ in range(2 * dut.rows):
            came += ctx.get(dut.input.ready)
            await ctx.tick()
            # The other reader needs nothing of what has come.
            ctx.set(dut.free if reader == "header" else dut.past, came % (2 * dut.rows))
            ctx.set(dut.passes, reader != "header")
        assert came == rows
        assert ctx.get(dut.reach.beat) == came

    simulate(dut, check)


def test_packets_of_a_beat_fill_their_queue() -> None:
    config = CONFIGS[0]
    dut = Intake(config)

    async def check(ctx: Any) -> None:
        came = 0
        ctx.set(dut.input.payload, {"data": [0] * 8, "keep": 1, "last": 1})
        ctx.set(dut.input.valid, 1)
        for _ in range(30):
            came += ctx.get(dut.input.ready)
            await ctx.tick()
        assert came == 8
        ctx.set(dut.input.valid, 0)
        for packet in range(8):
            while not ctx.get(dut.ended):
                await ctx.tick()
            assert ctx.get(dut.end.next) == packet + 1
            assert ctx.get(dut.end.words) == 1
            ctx.set(dut.pop, 1)
            await ctx.tick()
            ctx.set(dut.pop, 0)
        await ctx.tick().repeat(8)
        assert not ctx.get(dut.ended)

    simulate(dut, check)
