"""The skid buffer and the elastic one: against a list of what went in, and what their handshakes depend on."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Module, ResetInserter, Signal

from cdma.hdl.blocks.elastic_buffer import ElasticBuffer
from cdma.hdl.blocks.skid_buffer import SkidBuffer
from tests.support.pauses import PAIRS
from tests.support.queue_check import check_stream
from tests.support.simulate import simulate


@pytest.fixture(params=[SkidBuffer, ElasticBuffer])
def dut(request: pytest.FixtureRequest) -> SkidBuffer | ElasticBuffer:
    return request.param(16)


@pytest.mark.parametrize(("writes", "reads"), PAIRS)
def test_transfers_come_out_as_they_went_in(dut: SkidBuffer | ElasticBuffer, writes: str, reads: str) -> None:
    ends = SimpleNamespace(input=dut.i, output=dut.o)

    async def check(ctx: Any) -> None:
        await ctx.tick()
        await check_stream(ctx, ends, (writes, reads), writes, reads, 1, lambda: bool(ctx.get(dut.i.ready)))

    simulate(dut, check)


def test_ready_and_valid_follow_nothing_within_a_cycle(dut: SkidBuffer | ElasticBuffer) -> None:
    source = random.Random(1)

    async def check(ctx: Any) -> None:
        for _ in range(200):
            shown = set()
            for valid, ready in ((0, 0), (0, 1), (1, 0), (1, 1)):
                ctx.set(dut.i.valid, valid)
                ctx.set(dut.o.ready, ready)
                ctx.set(dut.i.payload, source.getrandbits(16))
                shown.add((ctx.get(dut.i.ready), ctx.get(dut.o.valid), ctx.get(dut.o.payload)))
            assert len(shown) == 1
            ctx.set(dut.i.valid, source.getrandbits(1))
            ctx.set(dut.o.ready, source.getrandbits(1))
            await ctx.tick()

    simulate(dut, check)


def test_nothing_moves_in_reset(dut: SkidBuffer | ElasticBuffer) -> None:
    """Ready is low too, because whoever offers in reset would lose the transfer."""
    m = Module()
    reset = Signal(init=1)
    m.submodules.buffer = dut
    m = ResetInserter(reset)(m)

    async def check(ctx: Any) -> None:
        ctx.set(dut.i.valid, 1)
        for _ in range(3):
            await ctx.tick()
            assert (ctx.get(dut.i.ready), ctx.get(dut.o.valid)) == (0, 0)
        ctx.set(reset, 0)
        assert ctx.get(dut.i.ready) == 0
        await ctx.tick()
        assert (ctx.get(dut.i.ready), ctx.get(dut.o.valid)) == (1, 0)

    simulate(m, check)
