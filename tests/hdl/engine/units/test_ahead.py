"""What a unit's writer is told of the stripe after the one in hand."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from cdma.hdl.axi.port_shape import PortShape
from cdma.hdl.engine.units.ahead import Ahead, early_stripes
from cdma.hdl.engine.units.plan import UnitPlan
from cdma.hdl.spec.engine import EngineConfig

_DEPTH = 8


@pytest.mark.parametrize("seed", range(4))
def test_it_speaks_of_the_next_stripe(seed: int) -> None:
    """Against a queue of the stripes that are in the commands' queue, of which the oldest is in hand."""
    source = random.Random(seed)
    dut = Ahead(_DEPTH)
    seen = {"ahead": 0, "alone": 0, "short": 0}

    async def bench(ctx: Any) -> None:
        inside: list[
            tuple[int, int]
        ] = []  # When it is at the output of the commands' queue, and whether it is whole.
        held = 0  # Cycles for which the command has been in hand.
        for cycle in range(3000):
            gives = len(inside) < _DEPTH and source.random() < (0.2, 0.5, 0.05, 0.9)[seed]
            whole = source.randrange(2)
            busy = bool(inside) and inside[0][0] <= cycle
            taken = busy and held > 2 and source.random() < 0.3
            ctx.set(dut.given, gives)
            ctx.set(dut.whole, whole)
            ctx.set(dut.busy, busy)
            ctx.set(dut.taken, taken)
            ahead = ctx.get(dut.ahead)
            there = len(inside) > 1 and inside[1][0] <= cycle
            if not busy or held == 0 or not there or not inside[1][1]:
                assert not ahead, cycle
                seen["alone" if not there else "short"] += busy
            elif held > 2 and inside[1][0] + 2 <= cycle:
                assert ahead, cycle
                seen["ahead"] += 1
            held = held + 1 if busy and not taken else 0
            if taken:
                inside.pop(0)
            if gives:
                inside.append((cycle + 2, whole))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert all(seen.values()), seen


@pytest.mark.parametrize(
    ("stripe_bytes", "bits", "burst", "early"),
    [(256, 256, 32, True), (256, 512, 32, False), (512, 512, 32, True), (4096, 256, 4, False)],
)
def test_only_where_a_stripe_is_long_enough(stripe_bytes: int, bits: int, burst: int, early: bool) -> None:
    config = EngineConfig(
        units=2, stripe_bytes=stripe_bytes, dev_data_bits=bits, burst_beats=burst, lanes=bits // 32
    )
    shape = PortShape(data_bits=bits, address_bits=64, word_bits=32, burst=burst, outstanding=16, buffer=128)
    assert early_stripes(UnitPlan(config, shape, shape)) == early
