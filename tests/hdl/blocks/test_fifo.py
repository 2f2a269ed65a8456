"""The FIFO: against a list of what went in."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.hdl.blocks.fifo import Fifo
from tests.support.pauses import PAIRS
from tests.support.queue_check import check_stream
from tests.support.simulate import simulate


@pytest.mark.parametrize(("writes", "reads"), PAIRS)
@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize(("depth", "late"), [(2, False), (8, False), (8, True), (16, True)])
def test_entries_come_out_as_they_went_in(
    depth: int, late: bool, pipelined: bool, writes: str, reads: str
) -> None:
    # Block RAM gives a transfer per cycle from four entries on.
    depth = max(depth, 4) if pipelined else depth
    dut = Fifo(16, depth, pipelined=pipelined, late_valid=late, late_ready=late)

    async def check(ctx: Any) -> None:
        await check_stream(
            ctx,
            dut,
            (depth, writes, reads),
            writes,
            reads,
            2 + 2 * pipelined,
            lambda: bool(ctx.get(dut.input.ready)),
        )

    simulate(dut, check)


@pytest.mark.parametrize("reserved", [False, True])
@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("depth", [2, 8])
def test_it_holds_its_depth_and_says_how_much_it_holds(depth: int, reserved: bool, pipelined: bool) -> None:
    """One entry more fits into the register of the read port, and one into that after it, which a reserved FIFO does not
    use."""
    dut = Fifo(8, depth, reserved=reserved, pipelined=pipelined)
    entries = depth if reserved else depth + 1 + pipelined

    async def check(ctx: Any) -> None:
        for turn in range(3):
            assert ctx.get(dut.empty)
            for entry in range(entries):
                ctx.set(dut.input.payload, 50 * turn + entry)
                ctx.set(dut.input.valid, 1)
                while not ctx.get(dut.input.ready):
                    await ctx.tick()
                await ctx.tick()
                assert not ctx.get(dut.empty)
            ctx.set(dut.input.valid, 0)
            await ctx.tick().repeat(4)
            # All but those after the memory.
            assert ctx.get(dut.level) == entries - 1 - pipelined
            assert bool(ctx.get(dut.input.ready)) == reserved
            ctx.set(dut.output.ready, 1)
            for entry in range(entries):
                assert not ctx.get(dut.empty)
                assert ctx.get(dut.output.valid)
                assert ctx.get(dut.output.payload) == 50 * turn + entry
                await ctx.tick()
            assert not ctx.get(dut.output.valid)
            ctx.set(dut.output.ready, 0)

    simulate(dut, check)
