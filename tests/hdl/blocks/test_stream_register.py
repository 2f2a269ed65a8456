"""The register in a stream: against a list of what went in."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.hdl.blocks.stream_register import StreamRegister
from tests.support.pauses import PAIRS
from tests.support.queue_check import check_stream
from tests.support.simulate import simulate


def test_one_that_halves_takes_a_transfer_every_second_cycle() -> None:
    dut = StreamRegister(16, halves=True)

    async def check(ctx: Any) -> None:
        ctx.set(dut.input.valid, 1)
        for number in range(8):
            for willing in (0, 1):
                # Ready does not depend on that of the output.
                ctx.set(dut.output.ready, willing)
                assert ctx.get(dut.input.ready)
            ctx.set(dut.input.payload, number)
            await ctx.tick()
            assert ctx.get(dut.output.valid)
            assert ctx.get(dut.output.payload) == number
            ctx.set(dut.output.ready, 1)
            assert not ctx.get(dut.input.ready)
            await ctx.tick()

    simulate(dut, check)


@pytest.mark.parametrize(("writes", "reads"), PAIRS)
def test_stream_register(writes: str, reads: str) -> None:
    dut = StreamRegister(16)

    async def check(ctx: Any) -> None:
        def ready() -> bool:
            taken = not ctx.get(dut.output.valid) or bool(ctx.get(dut.output.ready))
            assert ctx.get(dut.input.ready) == taken
            return taken

        await check_stream(ctx, dut, (writes, reads), writes, reads, 1, ready)

    simulate(dut, check)
