"""Neighbours that hold back, resets at any moment, and beats that break the rules of packing."""

from __future__ import annotations

from collections.abc import Iterator

from cdma.verif.lossy.context import Context, stage_test
from cdma.verif.lossy.packet import unkept
from cdma.verif.monitors.pauses import PATTERNS, never_first

__all__: list[str] = []


@stage_test
async def waiting(context: Context) -> None:
    bench = context.bench
    packets = [context.any_packet() for _ in range(20)]
    bench.set_pauses(output=never_first(context.rng), report=never_first(context.rng))
    await bench.run(packets)
    ends = ["input", "output", *(["report"] if context.design.quantises else [])]
    for end in ends:
        for name in ("long_stalls", "scattered"):
            bench.set_pauses(**{end: PATTERNS[name](context.rng)})
            await bench.run(packets)
    # Reports are taken late: what they hold up must go on as soon as they are.
    quiet = 0

    def late(willing: bool) -> bool:
        nonlocal quiet
        quiet = quiet + 1 if willing else 0
        return quiet < 100

    bench.set_pauses(report=late)
    await bench.run(packets[:6])


@stage_test
async def resets(context: Context) -> None:
    bench = context.bench
    for _ in range(max(20, context.budget // 20)):
        bench.set_pauses(**context.any_pauses())
        bench.offer([context.any_packet() for _ in range(3)])
        for _ in range(context.rng.randint(1, 60)):
            await bench.cycle()
        await bench.reset(context.rng.randint(1, 3))
        bench.set_pauses(**context.any_pauses())
        await bench.run([context.any_packet() for _ in range(2)])


def _broken_keeps(context: Context) -> Iterator[int]:
    """Nothing; for each word, a keep without that word below one that is there, and one with only a part of it."""
    of_keep, lanes = max(1, context.design.bits_in // 8), context.config.lanes
    whole, word = (1 << (of_keep * lanes)) - 1, (1 << of_keep) - 1
    yield 0
    for lane in range(lanes):
        if lane + 1 < lanes:
            yield whole & ~(word << (lane * of_keep))
        if of_keep > 1:
            part = (1 << context.rng.randint(1, of_keep - 1)) - 1
            yield part << (lane * of_keep) | ((1 << (lane * of_keep)) - 1)


@stage_test
async def holes(context: Context) -> None:
    for keep in _broken_keeps(context):
        for pauses in ({}, *(context.any_pauses() for _ in range(3)), {"output": never_first(context.rng)}):
            context.bench.set_pauses(**pauses)
            whole = context.any_packet(context.config.lanes)
            await context.bench.run([context.any_packet(), unkept(whole, keep), context.any_packet()])
