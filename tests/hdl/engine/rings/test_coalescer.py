"""Interrupts: after a number of completions, or a time after the first that no interrupt has reported."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from cdma.hdl.engine.rings.coalescer import Coalescer
from cdma.hdl.spec.engine import EngineConfig
from tests.support.collisions import CollidingMemory
from tests.support.simulate import simulate

#: How much later than asked for the interrupt may come, for each pair; and an event may be counted.
LATE = 16
COUNTED = 8
_PACES = pytest.mark.parametrize("pipelined", [False, True])


def times(
    events: Collection[int],
    count: int,
    cycles: int,
    length: int,
    *,
    channel: str = "offload",
    pairs: int = 1,
    pipelined: bool = False,
    start: int = 0,
    waited: tuple[int, int] | None = None,
    cleared: int | None = None,
) -> list[int]:
    """The cycles in which the last pair has an interrupt, for events that are there in the given cycles, of which the first
    comes ``start`` cycles after the registers have been written. The other channel has an event with the first, and other
    limits; so have all other pairs.

    ``waited`` is a cycle, and for how long the first event has waited by then. In the cycle ``cleared`` the pair is.
    """
    dut = Coalescer(EngineConfig(channels=pairs, pipelined=pipelined))
    found = []
    mine = 2 * (pairs - 1) + ("offload", "prefetch").index(channel)

    async def testbench(ctx: Any) -> None:
        for queue in range(2 * pairs):
            name = ("offload", "prefetch")[queue % 2]
            limits = (count, cycles) if queue == mine else (2, 10**6)
            for what, value in zip(("count", "cycles"), limits, strict=True):
                index = dut.registers.word(f"{name}.coalesce_{what}")
                change = {"index": index, "pair": queue // 2, "data": value, "enable": 0xF}
                ctx.set(dut.changes, change)
                await ctx.tick()
        ctx.set(dut.changes, {"index": 0, "data": 1, "enable": 0xF})
        await ctx.tick().repeat(2 + start)
        waiting: list[int] = []
        for cycle in range(length):
            waiting += [mine] * (cycle in events)
            if cycle == min(events):
                waiting += [queue for queue in range(2 * pairs) if queue != mine]
            ctx.set(dut.events.valid, bool(waiting))
            ctx.set(dut.events.payload, waiting[0] if waiting else 0)
            ctx.set(dut.clear, (cycle == cleared) << pairs - 1)
            if waited is not None and cycle == waited[0]:
                for byte, value in enumerate(waited[1].to_bytes(4, "little")):
                    ctx.set(dut.waited.data[4 * mine + byte], value)
            interrupts = ctx.get(dut.interrupts)
            assert interrupts in (0, 1 << mine)
            if interrupts:
                found.append(cycle)
            if waiting and ctx.get(dut.events.ready):
                waiting.pop(0)
            await ctx.tick()

    simulate(dut, testbench)
    return found


def _soon(found: list[int], expected: list[int]) -> bool:
    """Whether each comes when it is expected, or somewhat later."""
    return len(found) == len(expected) and all(
        at < each <= at + COUNTED for each, at in zip(found, expected, strict=True)
    )


@_PACES
@pytest.mark.parametrize("pairs", [1, 5])
@pytest.mark.parametrize("count", [0, 1])
def test_each_event_at_once(count: int, pairs: int, pipelined: bool) -> None:
    # The events of all queues that come with the first are counted after it.
    later = 8 * pairs
    expected = [5, later + 30, later + 60]
    assert _soon(times(set(expected), count, 0, later + 90, pairs=pairs, pipelined=pipelined), expected)


@_PACES
def test_after_a_number_of_events(pipelined: bool) -> None:
    assert _soon(times({5, 19, 30, 41, 90, 101}, 3, 0, 120, pipelined=pipelined), [30, 101])
    assert _soon(times(set(range(0, 120, 10)), 3, 0, 160, pipelined=pipelined), [20, 50, 80, 110])
    assert len(times(set(range(0, 6000, 10)), 255, 0, 6100, pipelined=pipelined)) == 2


@_PACES
@pytest.mark.parametrize("channel", ["offload", "prefetch"])
def test_events_that_come_at_once_are_all_counted(channel: str, pipelined: bool) -> None:
    """One every fourth cycle."""
    found = times(set(range(5, 35)), 10, 0, 200, channel=channel, pairs=2, pipelined=pipelined)
    assert len(found) == 3
    assert found[-1] <= 5 + 4 * 33 + COUNTED


@_PACES
@pytest.mark.parametrize("channel", ["offload", "prefetch"])
def test_a_pair_that_is_cleared_forgets_its_events(channel: str, pipelined: bool) -> None:
    for cleared in range(40, 49):
        options = {"channel": channel, "pairs": 2, "pipelined": pipelined, "cleared": cleared}
        assert times({5, 16}, 3, 0, 200, **options) == []
        assert _soon(times({5, 16, 60, 70, 80}, 3, 0, 200, **options), [80])
        assert times({5}, 200, cleared - 5, 200, **options) == []


def test_never_without_a_time() -> None:
    assert times({5}, 2, 0, 3000) == []


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [1, 5])
@pytest.mark.parametrize(
    ("cycles", "channel"),
    [(1, "offload"), (2, "prefetch"), (13, "offload"), (16, "prefetch"), (100, "offload"), (256, "prefetch")],
)
def test_a_time_after_the_first(cycles: int, channel: str, pairs: int) -> None:
    late = LATE * pairs
    # A second event that is counted in time belongs to the same interrupt.
    first = {5, 7} if cycles > COUNTED else {5}
    for start in range(0, 8, 3):
        options = {"channel": channel, "start": start, "pairs": pairs}
        (found,) = times(first, 200, cycles, cycles + 40 * pairs, **options)
        assert 5 + cycles <= found <= 5 + cycles + late
        second = cycles + 60 * pairs
        again = times(first | {second}, 200, cycles, second + cycles + 40 * pairs, **options)
        assert again[0] == found
        assert len(again) == 2
        assert second + cycles <= again[1] <= second + cycles + late


@_PACES
def test_one_event_makes_one_interrupt_by_count_or_by_time(pipelined: bool) -> None:
    assert len(times({5, 6, 7}, 2, 50, 500, pipelined=pipelined)) == 2, "two by count, the third by time"
    for start in range(8):
        for second in range(40, 60):
            found = times({5, second}, 2, 40, 200, start=start, pipelined=pipelined)
            assert len(found) == 1 if second < 45 else len(found) in (1, 2)


def test_the_time_begins_anew_after_an_interrupt_by_count() -> None:
    """Whenever it comes, with the next event right after it."""
    for second in range(14, 30, 3):
        found = times({5, second, second + 8}, 2, 40, second + 120)
        assert second < found[0] <= second + COUNTED
        assert len(found) == 2
        assert second + 48 <= found[1] <= second + 48 + LATE


@pytest.mark.parametrize("cycles", [0x1_0007, 0x100_0001, *range(0xFFFF_FFF9, 1 << 32, 3)])
def test_long_times_end(cycles: int) -> None:
    """As if the first event were long ago. What no longer fits the memory is not taken for a short time."""
    long_ago = (cycles - 300 & ~7) + 5
    # Where the channel's own time is not being looked at in cycle 100.
    for channel, start in (("offload", 4), ("prefetch", 0)):
        (found,) = times({5}, 2, cycles, 500, channel=channel, start=start, waited=(100, long_ago))
        assert 100 + cycles - long_ago - LATE <= found <= 100 + cycles - long_ago + LATE


@_PACES
@pytest.mark.parametrize(("what", "value"), [("count", 255), ("cycles", 0xFFFF_FF00)])
def test_a_limit_that_is_read_while_it_is_written_ends_nothing(
    what: str, value: int, pipelined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Software writes a limit anew, as it is, while events come."""
    monkeypatch.setattr("cdma.hdl.engine.rings.coalescer.Memory", CollidingMemory)
    dut = Coalescer(EngineConfig(pipelined=pipelined))
    limits = {"count": 255, "cycles": 0} | {what: value}
    words = {each: dut.registers.word(f"offload.coalesce_{each}") for each in limits}

    async def testbench(ctx: Any) -> None:
        for each, limit in limits.items():
            ctx.set(dut.changes, {"index": words[each], "data": limit, "enable": 0xF})
            await ctx.tick()
        taken = 0
        for cycle in range(2000):
            ctx.set(dut.changes.enable, 0xF if cycle % 7 == 0 else 0)
            ctx.set(dut.changes.index, words[what])
            ctx.set(dut.changes.data, value)
            ctx.set(dut.events.valid, cycle % 40 == 0 or (taken < cycle // 40))
            taken += ctx.get(dut.events.valid) & ctx.get(dut.events.ready)
            assert not ctx.get(dut.interrupts)
            await ctx.tick()
        assert taken > 30

    simulate(dut, testbench)
