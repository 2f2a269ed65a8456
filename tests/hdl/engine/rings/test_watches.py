"""The watchdogs of all queues: each measures its own time, and tells of it once."""

from __future__ import annotations

import random
from typing import Any

from cdma.hdl.engine.rings.watches import KINDS, BusWatches
from cdma.hdl.spec.engine import EngineConfig
from tests.support.simulate import simulate

PAIRS = 3
#: Cycles from one tick to the next, and visits until a watchdog fires.
_TICK, _VISITS = 20, 9


def test_each_watchdog_fires_in_time_and_only_without_progress() -> None:
    dut = BusWatches(EngineConfig(channels=PAIRS))
    queues = 2 * PAIRS

    async def testbench(ctx: Any) -> None:
        rng = random.Random(1)
        quiet = {(kind, queue): 0 for kind in KINDS for queue in range(queues)}
        waits, stuck, lost = (dict.fromkeys(KINDS, 0) for _ in range(3))
        #: What the bus does reaches the watchdogs a cycle later.
        came: set[tuple[str, int]] = set()
        fired = 0
        for cycle in range(4000):
            ctx.set(dut.tick, cycle % _TICK == 0)
            # Every queue has some time without an event now and then.
            busy = rng.random() < (0.3 if cycle // 400 % 2 else 0.0)
            moved, came = came, set()
            for kind, events in KINDS.items():
                if rng.random() < 0.01:
                    waits[kind] ^= 1 << rng.randrange(queues)
                ctx.set(getattr(dut, f"{kind}_waits"), waits[kind])
                for name in events:
                    valid, queue = busy and rng.random() < 0.5, rng.randrange(queues)
                    event = getattr(dut, name)
                    ctx.set(event.valid, valid)
                    ctx.set(event.queue, queue)
                    if valid:
                        came.add((kind, queue))
                logged = lost[kind] & rng.getrandbits(queues) & rng.getrandbits(queues)
                ctx.set(getattr(dut, f"{kind}_logged"), logged)
                fires = ctx.get(getattr(dut, f"{kind}_fires"))
                assert ctx.get(getattr(dut, f"{kind}_lost")) == lost[kind]
                assert stuck[kind] & ~ctx.get(getattr(dut, f"{kind}_stuck")) == 0
                lost[kind] = (lost[kind] | fires) & ~logged
                for queue in range(queues):
                    time, here = quiet[kind, queue], 1 << queue
                    if fires & here:
                        assert not stuck[kind] & here, "it fires twice"
                        assert time >= (_VISITS - 1) * _TICK - 1, "it fires too early"
                        stuck[kind] |= here
                        fired += 1
                    assert stuck[kind] & here or time <= _VISITS * _TICK + queues + 4, "it does not fire"
            await ctx.tick()
            for kind, queue in quiet:
                if (kind, queue) in moved or not waits[kind] >> queue & 1:
                    quiet[kind, queue] = 0
                    stuck[kind] &= ~(1 << queue)
                else:
                    quiet[kind, queue] += 1
        assert fired > 20

    simulate(dut, testbench)
