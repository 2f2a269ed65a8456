"""Interrupts: after a number of completions, or a time after the first that no interrupt has reported."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from cdma.hdl.engine.rings.coalescer import Coalescer
from cdma.hdl.spec.engine import EngineConfig
from tests.support.simulate import simulate

#: How much later than asked for the interrupt may come.
LATE = 16


def times(
    events: Collection[int],
    count: int,
    cycles: int,
    length: int,
    *,
    channel: str = "offload",
    start: int = 0,
    waited: tuple[int, int] | None = None,
) -> list[int]:
    """The cycles in which there is an interrupt, for events in the given cycles, of which the first comes ``start`` cycles
    after the registers have been written. The other channel has an event with the first, and other limits.

    ``waited`` is a cycle, and for how long the first event has waited by then.
    """
    dut = Coalescer(EngineConfig())
    found = []
    mine = getattr(dut, channel)
    other_name = {"offload": "prefetch", "prefetch": "offload"}[channel]
    other = getattr(dut, other_name)

    async def testbench(ctx: Any) -> None:
        for name, value in ((channel, cycles), (other_name, 10**6)):
            index = dut.registers.word(f"{name}.coalesce_cycles")
            ctx.set(dut.changes, {"index": index, "data": value, "enable": 0xF})
            await ctx.tick()
        ctx.set(dut.changes, {"index": index + 1, "data": 1, "enable": 0xF})
        ctx.set(mine.count, count)
        ctx.set(other.count, 2)
        await ctx.tick().repeat(2 + start)
        for cycle in range(length):
            ctx.set(mine.event, cycle in events)
            ctx.set(other.event, cycle == min(events))
            if waited is not None and cycle == waited[0]:
                place = 4 * (channel == "prefetch")
                for byte, value in enumerate(waited[1].to_bytes(4, "little")):
                    ctx.set(dut.waited.data[place + byte], value)
            assert not ctx.get(other.interrupt)
            if ctx.get(mine.interrupt):
                found.append(cycle)
            await ctx.tick()

    simulate(dut, testbench)
    return found


@pytest.mark.parametrize("count", [0, 1])
def test_each_event_at_once(count: int) -> None:
    assert times({5, 6, 20}, count, 0, 40) == [6, 7, 21]


def test_after_a_number_of_events() -> None:
    assert times({5, 9, 10, 11, 30, 31}, 3, 0, 60) == [11, 32]
    assert times(set(range(12)), 3, 0, 60) == [3, 6, 9, 12]
    assert len(times(set(range(600)), 255, 0, 700)) == 2


def test_never_without_a_time() -> None:
    assert times({5}, 2, 0, 3000) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cycles", "channel"),
    [(1, "offload"), (2, "prefetch"), (13, "offload"), (16, "prefetch"), (100, "offload"), (256, "prefetch")],
)
def test_a_time_after_the_first(cycles: int, channel: str) -> None:
    for start in range(0, 8, 3):
        options = {"channel": channel, "start": start}
        (found,) = times({5, 7}, 200, cycles, cycles + 40, **options)
        assert 5 + cycles <= found <= 5 + cycles + LATE
        second = cycles + 60
        again = times({5, 7, second, second + 1}, 200, cycles, second + cycles + 40, **options)
        assert again[0] == found
        assert len(again) == 2
        assert second + cycles <= again[1] <= second + cycles + LATE


def test_one_event_makes_one_interrupt_by_count_or_by_time() -> None:
    assert len(times({5, 6, 7}, 2, 50, 500)) == 2, "two by count, the third by time"


def test_the_time_begins_anew_after_an_interrupt_by_count() -> None:
    """Whenever it comes, with the next event right after it."""
    for second in range(6, 30, 3):
        found = times({5, second, second + 1}, 2, 40, second + 120)
        assert found[0] == second + 1
        assert len(found) == 2
        assert second + 41 <= found[1] <= second + 41 + LATE


@pytest.mark.parametrize("cycles", [0x1_0007, 0x100_0001, *range(0xFFFF_FFF9, 1 << 32, 3)])
def test_long_times_end(cycles: int) -> None:
    """As if the first event were long ago. What no longer fits the memory is not taken for a short time."""
    long_ago = (cycles - 300 & ~7) + 5
    # Where the channel's own time is not being looked at in cycle 100.
    for channel, start in (("offload", 5), ("prefetch", 1)):
        (found,) = times({5}, 2, cycles, 500, channel=channel, start=start, waited=(100, long_ago))
        assert 100 + cycles - long_ago - LATE <= found <= 100 + cycles - long_ago + LATE
