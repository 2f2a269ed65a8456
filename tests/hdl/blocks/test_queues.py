"""What the proofs do not say of queues and registers in streams: paths within a cycle, resets, levels, flip-flops."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module, ResetInserter, Signal

from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import ElasticBuffer, SkidBuffer
from tests.support.simulate import cells_of, simulate

each_buffer = pytest.mark.parametrize("kind", [SkidBuffer, ElasticBuffer])


@each_buffer
def test_ready_and_valid_follow_nothing_within_a_cycle(kind: type[SkidBuffer] | type[ElasticBuffer]) -> None:
    dut = kind(16)
    source = random.Random(1)

    async def check(ctx: Any) -> None:
        for _ in range(100):
            shown = set()
            for valid, ready in ((0, 0), (0, 1), (1, 0), (1, 1)):
                ctx.set(dut.input.valid, valid)
                ctx.set(dut.output.ready, ready)
                ctx.set(dut.input.payload, source.getrandbits(16))
                shown.add((ctx.get(dut.input.ready), ctx.get(dut.output.valid), ctx.get(dut.output.payload)))
            assert len(shown) == 1
            ctx.set(dut.input.valid, source.getrandbits(1))
            ctx.set(dut.output.ready, source.getrandbits(1))
            await ctx.tick()

    simulate(dut, check)


@each_buffer
def test_nothing_moves_in_reset(kind: type[SkidBuffer] | type[ElasticBuffer]) -> None:
    """Ready is low too, because whoever offers in reset would lose the transfer."""
    dut = kind(16)
    m = Module()
    reset = Signal(init=1)
    m.submodules.buffer = dut
    m = ResetInserter(reset)(m)

    async def check(ctx: Any) -> None:
        ctx.set(dut.input.valid, 1)
        for _ in range(3):
            await ctx.tick()
            assert (ctx.get(dut.input.ready), ctx.get(dut.output.valid)) == (0, 0)
        ctx.set(reset, 0)
        assert ctx.get(dut.input.ready) == 0
        await ctx.tick()
        assert (ctx.get(dut.input.ready), ctx.get(dut.output.valid)) == (1, 0)

    simulate(m, check)


def test_synthesis_keeps_the_flip_flops_of_each_part() -> None:
    """Of 300 bits: two for each bit, and six for each of three parts."""
    cells = cells_of(ElasticBuffer(300))
    assert sum(cell["type"] == "TRELLIS_FF" for cell in cells) == 2 * 300 + 6 * 3


@pytest.mark.parametrize(
    ("depth", "reserved", "pipelined"),
    [(2, False, False), (8, True, False), (2, True, True), (8, False, True)],
)
def test_a_fifo_holds_its_depth_and_says_how_much_it_holds(
    depth: int, reserved: bool, pipelined: bool
) -> None:
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
            await _empty(ctx, dut, range(50 * turn, 50 * turn + entries))

    simulate(dut, check)


async def _empty(ctx: Any, dut: Fifo, entries: range) -> None:
    """Takes these entries, one per cycle, and finds no other."""
    ctx.set(dut.output.ready, 1)
    for entry in entries:
        assert not ctx.get(dut.empty)
        assert ctx.get(dut.output.valid)
        assert ctx.get(dut.output.payload) == entry
        await ctx.tick()
    assert not ctx.get(dut.output.valid)
    ctx.set(dut.output.ready, 0)
