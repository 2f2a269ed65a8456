"""How packets become bursts, cycle by cycle; the writer's tests have the bursts themselves."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.axi.gather import Gather
from tests.support.axi_bench import port_shape
from tests.support.simulate import simulate
from tests.support.stream_bench import beats_of

_BURST = 8
_BEAT = 8


def _run(dut: Gather, packets: list[tuple[int, int, int]], admit: float = 1.0) -> tuple[list, list, int]:
    """Runs packets of ``(address, words, capacity)``; gives the bursts, the ends, and the cycles from the first beat to the
    end of the last packet."""
    rng = random.Random(3)
    beats = [beat for _, words, _ in packets for beat in beats_of(list(range(1, words + 1)), dut.shape.lanes)]
    bursts: list[dict[str, int]] = []
    ends: list[int] = []
    cycles = 0

    async def drive(ctx: Any) -> None:
        nonlocal cycles
        started = False
        while len(ends) < len(packets):
            address, _, capacity = packets[len(ends)]
            ctx.set(dut.command.payload, {"first": address, "last": address + capacity - 1})
            ctx.set(dut.command.valid, 1)
            ctx.set(dut.admit, rng.random() < admit)
            ready = ctx.get(dut.input.ready)
            # What comes changes nothing of whether it is taken.
            ctx.set(dut.input.valid, 0)
            assert ctx.get(dut.input.ready) == ready
            if beats:
                ctx.set(dut.input.payload, beats[0])
                ctx.set(dut.input.valid, 1)
                assert ctx.get(dut.input.ready) == ready
                if ready:
                    started = True
                    beats.pop(0)
            if ctx.get(dut.bursts.valid):
                burst = ctx.get(dut.bursts.payload)
                bursts.append(
                    {name: getattr(burst, name) for name in ("beat", "len", "none", "end", "overflow")}
                )
            if ctx.get(dut.command.ready):
                ends.append(ctx.get(dut.end))
            await ctx.tick()
            cycles += started

    simulate(dut, drive)
    return bursts, ends, cycles


@pytest.mark.parametrize(
    ("place", "beats", "more"), [(0, 64, 2), (0, 61, 2), (5, 64, 2), (_BURST - 1, 64, 3)]
)
def test_packets_follow_each_other_two_cycles_apart(place: int, beats: int, more: int) -> None:
    count = 6
    first = 4096 + place * _BEAT
    dut = Gather(port_shape(64, _BURST))
    _, ends, cycles = _run(dut, [(first, 2 * beats, 4096)] * count)
    assert ends == [first + _BEAT * beats] * count
    # The last end takes a cycle, and the first packet is counted from its first beat.
    assert cycles == count * beats + (count - 1) * more + 1


@pytest.mark.parametrize("admit", [1.0, 0.4])
def test_what_does_not_fit_comes_after_what_does(admit: float) -> None:
    """The burst of what fits, then where the rest would have gone; then the next packet."""
    dut = Gather(port_shape(64, _BURST))
    bursts, ends, _ = _run(dut, [(64, 40, 84), (256, 2, 8)], admit)
    assert ends == [144, 264]
    assert [burst["beat"] for burst in bursts] == [8, 16, 18, 32]
    assert [burst["len"] for burst in bursts if not burst["none"]] == [7, 1, 0]
    assert [burst["none"] for burst in bursts] == [0, 0, 1, 0]
    assert [burst["end"] for burst in bursts] == [0, 0, 1, 1]
    assert [burst["overflow"] for burst in bursts] == [0, 0, 1, 0]
