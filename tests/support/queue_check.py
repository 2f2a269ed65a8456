"""Checks a queue, or a register in a stream, against a list of what went in."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.support.pauses import WILLING

__all__ = ["check_stream"]

#: Length of a check.
CYCLES = 600


async def check_stream(
    ctx: Any, dut: Any, seed: object, writes: str, reads: str, latency: int, ready: Callable[[], bool]
) -> None:
    """Checks that nothing is lost, changed or out of order, and that each entry comes out in the first possible cycle.

    ``ready`` says whether ``dut`` takes an entry in this cycle.
    """
    source = random.Random(repr(seed))
    entries: list[tuple[int, int]] = []
    left = -1
    through = 0
    for cycle in range(CYCLES):
        ctx.set(dut.output.ready, WILLING[reads](source, cycle))
        # What is not valid has no meaning, but some value.
        payload = source.getrandbits(16)
        ctx.set(dut.input.payload, payload)
        goes_in = ready() and WILLING[writes](source, cycle)
        ctx.set(dut.input.valid, goes_in)
        valid = bool(entries) and cycle >= max(entries[0][0] + latency, left + 1)
        assert ctx.get(dut.output.valid) == valid, f"cycle {cycle}"
        if valid:
            assert ctx.get(dut.output.payload) == entries[0][1], f"cycle {cycle}"
            if ctx.get(dut.output.ready):
                entries.pop(0)
                left = cycle
                through += 1
        if goes_in:
            entries.append((cycle, payload))
        await ctx.tick()
    if writes == reads == "always":
        assert through == CYCLES - latency
    assert through > CYCLES // 200
