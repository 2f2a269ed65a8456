"""The buffer of a unit's pieces: nothing is lost, it fills up, and a beat passes in every cycle."""

from __future__ import annotations

import pytest

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.engine.units.piece_buffer import PieceBuffer
from tests.support.pauses import sometimes
from tests.support.stream_bench import StreamBench, beats_of

_WORDS = list(range(1, 201))


@pytest.mark.parametrize(("give", "take"), [(0.0, 0.0), (0.0, 0.6), (0.6, 0.0), (0.4, 0.4)])
def test_beats_pass_in_order(give: float, take: float) -> None:
    bench = StreamBench(PieceBuffer(Beat(8, 2), 16))
    bench.source("input", beats_of(_WORDS, 2), sometimes("give", give))
    (packet,) = bench.packets("output", 1, sometimes("take", take))
    bench.run(1000)
    assert packet.words == _WORDS
    if not give and not take:
        assert packet.cycles[-1] - packet.cycles[0] == len(_WORDS) // 2 - 1


def test_it_fills_up_and_no_further() -> None:
    """With nobody at the output for a while, 16 beats are in the memory at most, and one in its register."""
    bench = StreamBench(PieceBuffer(Beat(8, 2), 16))
    bench.source("input", beats_of(_WORDS, 2))
    rest = iter([True] * 60)
    (packet,) = bench.packets("output", 1, lambda: next(rest, False))
    bench.run(1000)
    assert packet.words == _WORDS
    taken = sum(cycle < 60 for cycle in bench.accepted["input"])
    assert 15 <= taken <= 17
