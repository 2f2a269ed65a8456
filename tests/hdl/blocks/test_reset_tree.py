"""A part that is reset with a flip-flop of its own, and one that is not."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Elaboratable, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cdma.hdl.blocks.reset_tree import reset_with
from tests.support.simulate import simulate


class _Count(wiring.Component):
    """Counts cycles since its reset."""

    def __init__(self) -> None:
        super().__init__({"count": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.count.eq(self.count + 1)
        return m


class _Around(Elaboratable):
    def __init__(self, own: bool) -> None:
        self.own = own
        self.clear = Signal()
        self.part = _Count()
        self.beside = _Count()
        self.domain = ClockDomain("sync")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = self.domain
        clock = self.domain.clk if self.own else None
        m.submodules.part = reset_with(m, "own", self.part, self.clear, clock)
        m.submodules.beside = self.beside
        return m


@pytest.mark.parametrize("own", [False, True])
def test_when_a_part_is_reset(own: bool) -> None:
    dut = _Around(own)

    async def check(ctx: Any) -> None:
        await ctx.tick().repeat(5)
        ctx.set(dut.clear, 1)
        counts = []
        for _ in range(5):
            await ctx.tick()
            ctx.set(dut.clear, 0)
            counts.append(ctx.get(dut.part.count))
        # With its own flip-flop it is a cycle behind, here and after the reset of all.
        assert counts == ([5, 0, 1, 2, 3] if own else [0, 1, 2, 3, 4])
        assert ctx.get(dut.beside.count) == 10
        ctx.set(dut.domain.rst, 1)
        await ctx.tick()
        ctx.set(dut.domain.rst, 0)
        await ctx.tick().repeat(4)
        assert ctx.get(dut.beside.count) == 4
        assert ctx.get(dut.part.count) == (3 if own else 4)

    simulate(dut, check)
