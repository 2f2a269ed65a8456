"""The joiner: pieces of several units become one packet without a gap."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.engine.units.joiner import Joiner, JoinOrder
from tests.support.pauses import sometimes
from tests.support.simulate import simulate
from tests.support.stream_bench import StreamBench, beats_of

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
