"""Neighbours that hold back, resets at any moment, and beats that break the rules of packing."""

from __future__ import annotations

from itertools import chain

from cdma.verif.simulator.monitors.stream_ends import never_first
from cdma.verif.simulator.plan import planned
from cdma.verif.stream import bench
from cdma.verif.stream.packet import broken_keeps
from cdma.verif.stream.stage.context import Context, stage_test
from cdma.verif.stream.stage.packet import unkept


@planned(
    "sinks that wait for valid, long stalls on each stream in turn, late reports",
    "valid does not wait for ready; nothing hangs or is lost",
)
@stage_test
async def waiting(context: Context) -> None:
    await bench.long_stalls(context)


resets = planned(
    "reset in mid-packet at any moment",
    "the next packet is whole",
    weight=2,
)(stage_test(bench.resets, "resets"))


@planned(
    "beats with a hole, with a part of a word, without a word",
    "no word is kept; the next packet is unharmed",
)
@stage_test
async def holes(context: Context) -> None:
    keeps, lanes = max(1, context.design.bits_in // 8), context.config.lanes
    for keep in chain((0,), broken_keeps(context.rng, lanes, keeps)):
        for pauses in ({}, *(context.any_pauses() for _ in range(3)), {"output": never_first(context.rng)}):
            context.bench.set_pauses(**pauses)
            whole = context.any_packet(lanes)
            await context.bench.run([context.any_packet(), unkept(whole, keep), context.any_packet()])
