"""What the slots say about the command after the one at the writer; the completer's tests have the rest."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.channel.slots import Slots
from tests.support.simulate import simulate


@pytest.mark.slow
@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 8])
def test_knows_of_a_command_ahead_whether_it_is_early(depth: int, pipelined: bool) -> None:
    """Never in a command's first two cycles, never of the wrong slot, and always after six cycles."""
    rng = random.Random(depth)
    early = [rng.random() < 0.5 for _ in range(150)]
    dut = Slots(64, 64, depth, pipelined=pipelined)
    pushed, taken, seen = 0, 0, 0
    #: Cycles for which a command has been at the writer, and for which another one has been there behind it.
    age, behind = 0, 0

    async def drive(ctx: Any) -> None:
        nonlocal pushed, taken, seen, age, behind
        while taken < len(early):
            phase = ctx.get(dut.write.valid), pushed > taken + 1
            age = age + 1 if phase[0] else 0
            behind = behind + 1 if all(phase) else 0
            ahead = ctx.get(dut.ahead)
            if ahead and phase[0]:
                assert age > 2
                assert pushed > taken + 1
                assert early[taken + 1]
                seen += 1
            elif behind > 6:
                assert not early[taken + 1]
            push = pushed < len(early) and pushed < taken + depth and rng.random() < 0.3
            ctx.set(dut.input.push, push)
            ctx.set(dut.input.starts, push)
            ctx.set(dut.input.early, early[pushed] if push else rng.random() < 0.5)
            take = rng.random() < 0.15
            ctx.set(dut.write.ready, take)
            if phase[0] and take:
                taken, age, behind = taken + 1, 0, 0
            await ctx.tick()
            pushed += push

    simulate(dut, drive)
    assert (seen > 20) == (depth > 1)
