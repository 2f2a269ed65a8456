"""Interrupts: after so many completions, or so long after the first that none has told of."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.sim import Simulator

from cdma.hdl.engine.interrupts import Coalescer


def times(events: set[int], count: int, cycles: int, length: int) -> list[int]:
    """The cycles in which there is an interrupt, for events in the given cycles."""
    dut = Coalescer()
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    found = []

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.count, count)
        ctx.set(dut.cycles, cycles)
        for cycle in range(length):
            ctx.set(dut.event, cycle in events)
            if ctx.get(dut.interrupt):
                found.append(cycle)
            await ctx.tick()

    simulator.add_testbench(testbench)
    simulator.run()
    return found


@pytest.mark.parametrize("count", [0, 1])
def test_each_event_at_once(count: int) -> None:
    assert times({5, 6, 20}, count, 0, 40) == [6, 7, 21]


def test_after_so_many() -> None:
    assert times({5, 9, 10, 11, 30, 31}, 3, 0, 60) == [11, 32]
    assert times(set(range(12)), 3, 0, 60) == [3, 6, 9, 12]
    assert len(times(set(range(600)), 255, 0, 700)) == 2


def test_never_without_a_time() -> None:
    assert times({5}, 2, 0, 3000) == []


@pytest.mark.parametrize("cycles", [1, 2, 15, 16, 17, 100, 1000])
def test_so_long_after_the_first(cycles: int) -> None:
    (found,) = times({5, 7}, 200, cycles, cycles + 300)
    assert 5 + cycles <= found <= 5 + cycles + 16
    again = times({5, 7, 2000, 2001}, 200, cycles, 2000 + cycles + 300)
    assert len(again) == 2
    assert 2000 + cycles <= again[1] <= 2000 + cycles + 16


def test_one_event_makes_one_interrupt_by_count_or_by_time() -> None:
    assert len(times({5, 6, 7}, 2, 50, 500)) == 2, "two by count, the third by time"
