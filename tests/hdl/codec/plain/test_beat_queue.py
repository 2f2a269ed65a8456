"""The queue of finished beats in flip-flops: against a list of what went in."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.hdl.codec.plain.beat_queue import BeatQueue
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from tests.support.beat_queue_check import LOADS, check_beats, check_capacity
from tests.support.pauses import PAIRS
from tests.support.simulate import simulate


@pytest.mark.parametrize(("writes", "reads"), PAIRS)
@pytest.mark.parametrize(("lanes", "pairs"), LOADS)
@pytest.mark.parametrize("depth", [2, 3])
def test_beats_come_out_as_they_went_in(
    depth: int, lanes: int, pairs: float, writes: str, reads: str
) -> None:
    dut = BeatQueue(CodecConfig(Format(8, 32), lanes), depth)

    async def check(ctx: Any) -> None:
        await check_beats(ctx, dut, (depth, lanes, pairs, writes, reads), 1, lanes, pairs, writes, reads)

    simulate(dut, check)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("depth", [2, 3])
def test_every_entry_is_used(depth: int, number: int) -> None:
    """All but a single entry that is left for two beats."""
    dut = BeatQueue(CodecConfig(Format(8, 32), 2), depth)
    used = depth - depth % number

    async def check(ctx: Any) -> None:
        await check_capacity(ctx, dut, number, used, used)

    simulate(dut, check)
