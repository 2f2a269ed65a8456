"""The joiner: pieces of several units become one packet without a gap. The splitter against the model: formats,
densities, garbage, packets that end early or late, pauses, throughput.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.registers import Beat
from cdma.hdl.engine.units.joiner import Joiner, JoinOrder, Splitter
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.model import compress_words
from tests.support.codec_bench import random_words
from tests.support.simulate import simulate
from tests.support.stimuli import by_phases, never, sometimes
from tests.support.stream_bench import Packet, StreamBench, beats_of
from tests.support.stream_pieces import split_packet

_BITS, _LANES = 8, 4


class _Flat(wiring.Component):
    """The joiner with a name for each piece's stream."""

    def __init__(self, units: int) -> None:
        self.joiner = Joiner(_BITS, _LANES, units)
        beat = stream.Signature(Beat(_BITS, _LANES))
        super().__init__(
            {
                "order": In(stream.Signature(JoinOrder(units))),
                **{f"piece_{unit}": In(beat) for unit in range(units)},
                "output": Out(beat),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.joiner = joiner = self.joiner
        wiring.connect(m, wiring.flipped(self.order), joiner.order)
        wiring.connect(m, joiner.output, wiring.flipped(self.output))
        for unit, piece in enumerate(joiner.pieces):
            wiring.connect(m, wiring.flipped(getattr(self, f"piece_{unit}")), piece)
        return m


_Piece = tuple[int, list[int]]


def _join(packets: list[list[_Piece]], units: int, share: float) -> tuple[list[list[int]], int]:
    """Joins pieces, each with its unit; gives the packets, and the cycles from the first beat out to the last."""
    bench = StreamBench(_Flat(units))
    order = [
        {"unit": unit, "final": int(at == len(packet) - 1)}
        for packet in packets
        for at, (unit, _) in enumerate(packet)
    ]
    bench.source("order", order, sometimes("order", share))
    for unit in range(units):
        beats = [
            beat
            for packet in packets
            for at, words in packet
            if at == unit
            for beat in beats_of(words, _LANES) or [{"data": [0] * _LANES, "keep": 0, "last": 1}]
        ]
        bench.source(f"piece_{unit}", beats, sometimes(unit, share))
    received = bench.packets("output", len(packets), sometimes("output", share))
    bench.run(20000)
    return [packet.words for packet in received], received[-1].cycles[-1] - received[0].cycles[0]


@pytest.mark.parametrize("units", [2, 4, 6])
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_words_come_in_order_and_without_a_gap(units: int, share: float) -> None:
    source = random.Random(units)
    packets = []
    for _ in range(20):
        first = source.randrange(units)
        sizes = [source.choice((1, 2, 3, 4, 5, 7, 8, 9, 30)) for _ in range(source.randint(1, 9))]
        packets.append(
            [
                ((first + at) % units, [source.randrange(256) for _ in range(size)])
                for at, size in enumerate(sizes)
            ]
        )
    got, _ = _join(packets, units, share)
    assert got == [[word for _, piece in packet for word in piece] for packet in packets]


def test_empty_pieces_add_nothing() -> None:
    packets: list[list[_Piece]] = [[(0, [1, 2, 3]), (1, []), (0, [4, 5])], [(1, [])], [(0, [6]), (1, [])]]
    got, _ = _join(packets, 2, 0.2)
    assert got == [[1, 2, 3, 4, 5], [], [6]]


def test_it_waits_for_the_unit_whose_turn_it_is_and_for_no_other() -> None:
    """It waits for nobody while there is no order, and not while the output holds the words back."""
    joiner = Joiner(_BITS, _LANES, 2)
    beat = {"data": [1] * _LANES, "keep": (1 << _LANES) - 1, "last": 1}

    async def drive(ctx: Any) -> None:
        for piece in joiner.pieces:
            ctx.set(piece.payload, beat)
        for order, turn, first, second, waits in (
            (0, 0, 0, 0, 0),
            (0, 0, 0, 1, 0),
            (1, 0, 0, 0, 1),
            (1, 0, 0, 1, 1),
            (1, 0, 1, 0, 0),
            (1, 1, 1, 0, 1),
            (1, 1, 0, 1, 0),
        ):
            ctx.set(joiner.order.valid, order)
            ctx.set(joiner.order.payload, {"unit": turn, "final": 1})
            ctx.set(joiner.pieces[0].valid, first)
            ctx.set(joiner.pieces[1].valid, second)
            assert ctx.get(joiner.waits) == waits, (order, turn, first, second)
        # The last one goes in until nothing more has room.
        await ctx.tick().repeat(9)
        assert not ctx.get(joiner.pieces[1].ready)
        assert not ctx.get(joiner.waits)

    simulate(joiner, drive)


def test_a_beat_per_cycle() -> None:
    packet: list[_Piece] = [(at % 2, list(range(1, 4 * 8 + 2))) for at in range(16)]
    got, cycles = _join([packet], 2, 0.0)
    assert len(got[0]) == 16 * 33
    # A piece of 33 words takes 9 cycles; its words alone would take 8.25.
    assert cycles <= 16 * 9


#: Headers from a part of a beat to several beats, codes across words, fields, padding, one lane to sixteen.
CONFIGS = [
    CodecConfig(Format(), 4),
    CodecConfig(Format(8, 8, 1), 8),
    CodecConfig(Format(8, 32, 1), 16),
    CodecConfig(Format(16, 32, 2, (0, 1)), 4),
    CodecConfig(Format(8, 32, 4, (0, 1, 2)), 4),
    CodecConfig(Format(8, 32, 3, (0, 7)), 8),
    CodecConfig(Format(16, 32, 3, (0, 7)), 2),
    CodecConfig(Format(8, 64, 1, align=4), 8),
    CodecConfig(Format(16, 32, 2, (0x7F,), field_bits=8, rotate=1, zero=True), 4),
    CodecConfig(Format(32, 32, 2, (0x7F,), field_bits=8, rotate=1, align=4), 1),
    CodecConfig(Format(4, 8, 2, (0,)), 4),
    CodecConfig(Format(2, 4, 1), 4),
    CodecConfig(Format(), 1),
    CodecConfig(Format(8, 32, 3, (0, 7)), 1),
]

#: Words of the pieces of a packet, whether it is raw, and its stream.
Split = tuple[list[int], bool, list[int]]


def _want(split: Split, format: Format) -> list[list[int]]:
    """The packets that come out."""
    pieces, raw, stream = split
    if not raw:
        return [part.tolist() for part in split_packet(stream, pieces, format)]
    cuts = np.cumsum([count * format.parts for count in pieces[:-1]], dtype=int)
    return [part.tolist() for part in np.split(np.array(stream, np.uint32), cuts)]


def _run(
    config: CodecConfig,
    splits: Sequence[Split],
    *,
    stripe_words: int,
    seed: object = None,
) -> tuple[StreamBench, list[Packet]]:
    """Sends the packets through a splitter and compares every piece; with a seed, with pauses and empty last beats."""
    bench = StreamBench(Splitter(config, stripe_words))
    entries, beats, want = [], [], []
    for split in splits:
        pieces, raw, stream = split
        entries += [
            {"words": words, "raw": raw, "final": place == len(pieces) - 1}
            for place, words in enumerate(pieces)
        ]
        packet = beats_of(stream, config.units)
        if len(stream) % config.units == 0 and (not packet or seed is not None):
            if packet:
                packet[-1]["last"] = 0
            packet.append({"data": [1] * config.units, "keep": 0, "last": 1})
        beats += packet
        want += _want(split, config.format)
    rests = [never if seed is None else by_phases((seed, side)) for side in range(3)]
    bench.source("pieces", entries, rests[0])
    bench.source("input", beats, rests[1])
    received = bench.packets("output", len(want), rests[2])
    bench.run(40 * (len(beats) + len(entries)) + 200)
    for number, (got, words) in enumerate(zip(received, want, strict=True)):
        assert got.words == words, f"piece {number}"
        assert len(got.cycles) == max(1, -(-len(words) // config.units)), f"beats of piece {number}"
    return bench, received


def _pieces(source: random.Random, config: CodecConfig, stripe: int) -> list[int]:
    """Stripes of windows: the first and the last may be shorter, the last by words."""
    window = config.format.window
    pieces = [stripe * window] * source.randint(1, 4)
    pieces[0] = source.randint(1, stripe) * window
    pieces[-1] -= source.randrange(pieces[-1])
    return pieces


def _split(source: random.Random, config: CodecConfig, stripe: int) -> Split:
    pieces = _pieces(source, config, stripe)
    kind = source.choice(("raw", "sound", "sound", "sound", "early", "late", "garbage", "ones"))
    bits = config.format.stream_bits
    count = sum(pieces)
    if kind == "raw":
        count += source.choice((0, 0, -source.randrange(count), source.randint(1, 9)))
        return pieces, True, [source.getrandbits(bits) for _ in range(count * config.format.parts)]
    words = random_words(source, config, count, source.choice((0.0, 0.02, 0.3, 1.0, source.random())))
    stream = [int(word) for word in compress_words(np.array(words, np.uint32), config.format)]
    if kind == "early":
        stream = stream[: source.randrange(len(stream))]
    elif kind == "late":
        stream += [source.getrandbits(bits) for _ in range(source.randint(1, 3 * config.units))]
    elif kind == "garbage":
        stream = [source.getrandbits(bits) for _ in range(source.randint(0, len(stream)))]
    elif kind == "ones":
        stream = [(1 << bits) - 1] * source.randint(0, len(stream) + 3)
    return pieces, False, stream


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.summary())
def test_packets_of_all_kinds(config: CodecConfig) -> None:
    """Sound, damaged and raw ones, with pauses on every side."""
    source = random.Random(config.summary())
    packets = max(6, min(10, 60 * config.units // config.format.window))
    splits = [_split(source, config, 1 + number % 3) for number in range(packets)]
    _run(config, splits, stripe_words=3 * config.format.window, seed=config.summary())


@pytest.mark.slow
@pytest.mark.parametrize("config", [CONFIGS[1], CONFIGS[4], CONFIGS[8]], ids=lambda config: config.summary())
def test_a_beat_in_every_cycle(config: CodecConfig) -> None:
    """Also where a beat has many windows and the ends of several pieces, and from one packet to the next."""
    source = random.Random(3)
    splits: list[Split] = []
    for density in (0.0, 0.02, 0.5, 1.0, 0.0):
        pieces = [2 * config.format.window] * 6 + [5]
        words = random_words(source, config, sum(pieces), density)
        splits.append(
            (pieces, False, compress_words(np.array(words, np.uint32), config.format).astype(int).tolist())
        )
    pieces = [config.format.window] * 3
    splits.append((pieces, True, [7] * (sum(pieces) * config.format.parts)))
    bench, received = _run(config, splits, stripe_words=2 * config.format.window)
    cycles = [cycle for packet in received for cycle in packet.cycles]
    assert cycles == list(range(cycles[0], cycles[0] + len(cycles)))
    ahead = -(-(config.format.header_words - 1) // config.units)
    assert cycles[0] - bench.accepted["input"][0] == 7 + ahead + (config.format.header_words > 1)


def test_a_piece_is_completed_without_the_next() -> None:
    """The next entry may come only after the packet of the entry before has left."""
    config = CodecConfig(Format(2, 4, 1), 4)
    stream = compress_words(np.array([0, 1] * 8, np.uint32), config.format)
    first, second = split_packet(stream, [8, 8], config.format)
    bench = StreamBench(Splitter(config, 8))
    bench.source("input", beats_of(stream.tolist(), config.units))
    bench.source("pieces", [{"words": 8, "raw": 0, "final": 0}])
    received = bench.packets("output", 1)
    bench.run(60)
    assert received[0].words == first.tolist()
    assert len(second) > 0
