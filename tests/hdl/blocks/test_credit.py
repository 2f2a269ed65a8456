"""The counter of credits: against an integer."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.blocks.credit import Credit
from tests.support.simulate import simulate


@pytest.mark.parametrize(("entries", "most"), [(4, 1), (8, 1), (16, 1), (32, 2), (16, 5)])
def test_all_entries_are_used_and_no_more(entries: int, most: int) -> None:
    """A writer that spends all its credit without a pause fills every entry, in whatever way entries become free."""
    dut = Credit(entries, most)
    source = random.Random(f"{entries} {most}")
    usable = entries - entries % most

    async def check(ctx: Any) -> None:
        used = 0
        for greedy in [True, False] * 10:
            peak = 0
            for _ in range(entries + 10):
                taken = 0
                if ctx.get(dut.there):
                    taken = most if greedy else source.randint(0, most)
                given = not greedy and used > 0 and source.random() < 0.6
                ctx.set(dut.taken, taken)
                ctx.set(dut.given, given)
                used += taken - given
                assert 0 <= used <= entries
                peak = max(peak, used)
                await ctx.tick()
            ctx.set(dut.taken, 0)
            if greedy:
                assert not ctx.get(dut.there)
                # What is kept back covers the cycles in which the register does not know yet what was spent.
                assert entries - 3 * most < peak <= entries
            ctx.set(dut.given, 1)
            while used:
                used -= 1
                await ctx.tick()
            ctx.set(dut.given, 0)
            await ctx.tick().repeat(2)
            assert ctx.get(dut.there)
        for _ in range(entries):
            taken = most if ctx.get(dut.there) else 0
            ctx.set(dut.taken, taken)
            used += taken
            await ctx.tick()
        assert used == usable

    simulate(dut, check)


@pytest.mark.parametrize("most", [1, 2])
def test_credit_returned_in_time_does_not_run_out(most: int) -> None:
    dut = Credit(16 * most, most)

    async def check(ctx: Any) -> None:
        taken = [0] * 6
        for cycle in range(200):
            assert ctx.get(dut.there), f"cycle {cycle}"
            # No more than one credit can be returned in a cycle.
            taken.append(1)
            ctx.set(dut.taken, 1)
            ctx.set(dut.given, taken.pop(0))
            await ctx.tick()

    simulate(dut, check)
