"""The watchdogs of all queues: each measures its own time, and tells of it once."""

from __future__ import annotations

import random
from typing import Any

from cdma.hdl.engine.rings.watches import EVENTS, KINDS, BusWatches
from cdma.hdl.spec.engine import EngineConfig
from tests.support.simulate import simulate

PAIRS = 3
#: Cycles from one tick to the next, and visits until a watchdog fires.
_TICK, _VISITS = 20, 9


def test_each_watchdog_fires_in_time_and_only_without_progress() -> None:
    dut = BusWatches(EngineConfig(channels=PAIRS))
    count = len(KINDS) * 2 * PAIRS

    async def testbench(ctx: Any) -> None:
        rng = random.Random(1)
        quiet = [0] * count
        waits = stuck = lost = fired = 0
        #: What the bus does reaches the watchdogs a cycle later.
        came: set[int] = set()
        for cycle in range(4000):
            ctx.set(dut.tick, cycle % _TICK == 0)
            # Every queue has some time without an event now and then.
            busy = rng.random() < (0.3 if cycle // 400 % 2 else 0.0)
            moved, came = came, set()
            waits ^= (rng.random() < 0.02) << rng.randrange(count)
            ctx.set(dut.waits, waits)
            happens = 0
            for number, kind in enumerate(EVENTS.values()):
                valid, queue = busy and rng.random() < 0.5, rng.randrange(2 * PAIRS)
                happens |= valid << number
                ctx.set(dut.numbers[number], queue)
                if valid:
                    came.add(len(KINDS) * queue + KINDS.index(kind))
            ctx.set(dut.events, happens)
            logged = lost & rng.getrandbits(count) & rng.getrandbits(count)
            ctx.set(dut.logged, logged)
            fires = ctx.get(dut.fires)
            assert ctx.get(dut.lost) == lost
            assert stuck & ~ctx.get(dut.stuck) == 0
            lost = (lost | fires) & ~logged
            for each, time in enumerate(quiet):
                here = 1 << each
                if fires & here:
                    assert not stuck & here, "it fires twice"
                    assert time >= (_VISITS - 1) * _TICK - 1, "it fires too early"
                    stuck |= here
                    fired += 1
                assert stuck & here or time <= _VISITS * _TICK + 2 * PAIRS + 4, "it does not fire"
            await ctx.tick()
            for each in range(count):
                if each in moved or not waits >> each & 1:
                    quiet[each] = 0
                    stuck &= ~(1 << each)
                else:
                    quiet[each] += 1
        assert fired > 20

    simulate(dut, testbench)
