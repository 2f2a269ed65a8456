"""A part that is reset with a flip-flop of its own, and one that is not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, ClockSignal, Elaboratable, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.reset_tree import reset_with
from tests.support.simulate import simulate
from tests.support.synthesis import cells_of


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
        # With its own flip-flop it begins a cycle later and ends two later, here and after the reset of all.
        assert counts == ([4, 0, 0, 1, 2] if own else [0, 1, 2, 3, 4])
        assert ctx.get(dut.beside.count) == 10
        ctx.set(dut.domain.rst, 1)
        await ctx.tick()
        ctx.set(dut.domain.rst, 0)
        await ctx.tick().repeat(4)
        assert ctx.get(dut.beside.count) == 4
        assert ctx.get(dut.part.count) == (2 if own else 4)

    simulate(dut, check)


class _Two(wiring.Component):
    """Two parts, which are reset by the same."""

    def __init__(self) -> None:
        super().__init__({"clear": In(1), "counts": Out(8).array(2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for index, name in enumerate(("first", "second")):
            part = _Count()
            clock = Signal()
            m.d.comb += [clock.eq(ClockSignal()), self.counts[index].eq(part.count)]
            m.submodules[name] = reset_with(m, name, part, self.clear, clock)
        return m


def test_synthesis_for_an_fpga_keeps_a_flip_flop_for_each_part() -> None:
    flip_flops = [cell for cell in cells_of(_Two()) if cell["type"] == "TRELLIS_FF"]
    by_reset = Counter(tuple(cell["connections"]["LSR"]) for cell in flip_flops)
    # Two counts of eight bits, each with its reset, and the flip-flops of those.
    assert sorted(by_reset.values())[-2:] == [8, 8], by_reset
