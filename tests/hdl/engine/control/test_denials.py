"""The accesses that were refused: how many, and the first."""

from __future__ import annotations

from cdma.hdl.engine.control.denials import Denials
from cdma.hdl.spec.registers.guards import DENIED_BITS
from tests.support.simulate import simulate


def test_counts_both_ways_at_once_keeps_the_first_and_stays_at_the_most():
    dut = Denials(12)
    most = (1 << DENIED_BITS) - 1

    async def testbench(ctx):
        def shown():
            return tuple(ctx.get(each) for each in (dut.count, dut.address, dut.prot, dut.is_write))

        ctx.set(dut.read, {"valid": 1, "address": 0x123, "prot": 5})
        await ctx.tick()
        assert shown() == (1, 0x123, 5, 0)
        ctx.set(dut.write, {"valid": 1, "address": 0x456, "prot": 2})
        await ctx.tick()
        assert shown() == (3, 0x123, 5, 0)
        ctx.set(dut.clear, 1)
        await ctx.tick()
        ctx.set(dut.clear, 0)
        assert shown()[0] == 0
        await ctx.tick()
        assert shown() == (2, 0x456, 2, 1)
        await ctx.tick().repeat(most // 2 - 1)
        assert ctx.get(dut.count) == most - 1
        await ctx.tick().repeat(3)
        assert shown() == (most, 0x456, 2, 1)

    simulate(dut, testbench)
