"""The bodies of tests that are alike for all blocks with streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdma.verif.simulator.monitors.pauses import PATTERNS, after_waiting, never_first

from .context import Context, P

__all__ = ["in_any_order", "long_stalls", "random_traffic", "resets", "same_from_any_start"]


async def in_any_order(context: Context[Any, P], packets: Sequence[P]) -> None:
    """Sends packets without pauses, then shuffled with pauses."""
    context.bench.set_pauses()
    await context.bench.run(packets)
    shuffled = list(packets)
    context.rng.shuffle(shuffled)
    context.bench.set_pauses(**context.any_pauses())
    await context.bench.run(shuffled)


async def random_traffic(context: Context[Any, Any]) -> None:
    """Random packets, lengths and tables under random pauses, a few packets at a time."""
    left = context.budget
    while left > 0:
        count = min(left, context.rng.choice((1, 5, 20, 40)))
        context.new_table()
        context.bench.set_pauses(**context.any_pauses())
        await context.bench.run([context.any_packet() for _ in range(count)])
        left -= count


async def same_from_any_start(context: Context[Any, Any]) -> None:
    """Notes a digest of all outputs, which must not depend on start values."""
    bench = context.bench
    bench.set_pauses()
    await bench.run([context.any_packet() for _ in range(20)])
    bench.set_pauses(**context.any_pauses())
    await bench.run([context.any_packet() for _ in range(20)])
    context.tally.notes["digest"] = bench.digest


async def resets(context: Context[Any, Any]) -> None:
    """Resets in mid-packet at any moment; what follows must be whole."""
    bench = context.bench
    for _ in range(max(20, context.budget // 20)):
        context.new_table()
        bench.set_pauses(**context.any_pauses())
        bench.offer([context.any_packet() for _ in range(3)])
        for _ in range(context.rng.randint(1, 60)):
            await bench.cycle()
        await bench.reset(context.rng.randint(1, 3))
        bench.set_pauses(**context.any_pauses())
        await bench.run([context.any_packet() for _ in range(2)])


async def long_stalls(context: Context[Any, P]) -> list[P]:
    """Sinks that wait for valid, long stalls on each stream in turn, late reports; returns the packets."""
    bench = context.bench
    packets = [context.any_packet() for _ in range(20)]
    bench.set_pauses(output=never_first(context.rng), report=never_first(context.rng))
    await bench.run(packets)
    for end in ("input", "output", "report", "length"):
        for name in ("long_stalls", "scattered") if getattr(bench, end) is not None else ():
            bench.set_pauses(**{end: PATTERNS[name](context.rng)})
            await bench.run(packets)
    # What late reports hold up must go on as soon as they are taken.
    bench.set_pauses(report=after_waiting(100))
    await bench.run(packets[:6])
    return packets
