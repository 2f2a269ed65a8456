"""The queue in a memory: against a list of what went in."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Elaboratable, Module

from cdma.hdl.blocks.credit import Credit
from cdma.hdl.blocks.memory_queue import MemoryQueue
from tests.support.pauses import PAIRS
from tests.support.queue_check import check_stream
from tests.support.simulate import simulate


class Counted(Elaboratable):
    """A queue and the credit of its writer, connected as all their users connect them."""

    def __init__(self, depth: int) -> None:
        self.queue = MemoryQueue(16, depth)
        self.credit = Credit(depth)
        self.input, self.output = self.queue.input, self.queue.output

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue, m.submodules.credit = self.queue, self.credit
        m.d.comb += [
            self.credit.taken.eq(self.input.valid),
            self.credit.given.eq(self.output.valid & self.output.ready),
        ]
        return m


@pytest.mark.parametrize(("writes", "reads"), PAIRS)
@pytest.mark.parametrize("depth", [8, 16])
def test_memory_queue(depth: int, writes: str, reads: str) -> None:
    dut = Counted(depth)

    async def check(ctx: Any) -> None:
        await check_stream(
            ctx, dut, (depth, writes, reads), writes, reads, 3, lambda: bool(ctx.get(dut.credit.there))
        )

    simulate(dut, check)


@pytest.mark.parametrize("depth", [4, 16])
def test_memory_queue_holds_its_depth(depth: int) -> None:
    """A writer that counts the entries exactly may fill all of them."""
    dut = MemoryQueue(8, depth)

    async def check(ctx: Any) -> None:
        for turn in range(3):
            for entry in range(depth):
                ctx.set(dut.input.payload, 50 * turn + entry)
                ctx.set(dut.input.valid, 1)
                await ctx.tick()
            ctx.set(dut.input.valid, 0)
            await ctx.tick().repeat(5)
            ctx.set(dut.output.ready, 1)
            for entry in range(depth):
                assert ctx.get(dut.output.valid)
                assert ctx.get(dut.output.payload) == 50 * turn + entry
                await ctx.tick()
            assert not ctx.get(dut.output.valid)
            ctx.set(dut.output.ready, 0)

    simulate(dut, check)
