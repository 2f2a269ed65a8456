"""The queue of finished beats in memories: against a list of what went in."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.hdl.codec.pipelined.beat_memory import BeatMemory
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from tests.support.beat_queue_check import LOADS, check_beats, check_capacity
from tests.support.pauses import PAIRS
from tests.support.simulate import simulate


@pytest.mark.parametrize(("writes", "reads"), PAIRS)
@pytest.mark.parametrize(("lanes", "pairs"), LOADS)
def test_beats_come_out_as_they_went_in(lanes: int, pairs: float, writes: str, reads: str) -> None:
    dut = BeatMemory(CodecConfig(Format(8, 32), lanes))

    async def check(ctx: Any) -> None:
        await check_beats(ctx, dut, (lanes, pairs, writes, reads), 4, lanes, pairs, writes, reads)

    simulate(dut, check)


@pytest.mark.parametrize("number", [1, 2])
def test_nearly_every_entry_is_used(number: int) -> None:
    """Its credit, a register, keeps entries for the beats of two cycles back, and learns late that only one was pushed."""
    dut = BeatMemory(CodecConfig(Format(8, 32), 2))

    async def check(ctx: Any) -> None:
        await check_capacity(ctx, dut, number, 27, 32)

    simulate(dut, check)
