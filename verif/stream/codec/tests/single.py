"""Tests that run by themselves, in no regression: for waves, of a tensor of the caller's, and for measurements."""

from __future__ import annotations

import numpy as np
from cocotb.triggers import ClockCycles

from cdma.sim.codec.words import Words
from cdma.verif.simulator.monitors.stream_ends import once
from cdma.verif.simulator.plan import REST_CYCLES, counting, leave_row
from cdma.verif.stream.codec import stimulus
from cdma.verif.stream.codec.context import Context, codec_test
from cdma.verif.stream.codec.measure import cases, packet_windows


@codec_test
async def scenario(context: Context) -> None:
    """A sparse, an empty and a dense window, cut short; the sink holds back once; then a short packet."""
    config, bench = context.config, context.bench
    window, lanes = config.format.window, config.lanes
    sparse = stimulus.scattered(np.random.default_rng(5), window, 0.35)
    empty = np.zeros(window, bool)
    dense = np.ones(window - lanes // 2, bool)
    short = np.arange(max(1, lanes // 2)) % 2 == 1
    bench.set_pauses(output=once(3, 3))
    await bench.run([context.from_mask(np.concatenate([sparse, empty, dense])), context.from_mask(short)])


@codec_test
async def tensor(context: Context) -> None:
    """Sends the words of a file through the block at full speed and compares every bit."""
    bench = context.bench
    bench.set_pauses()
    (delivery,) = await bench.run([context.packet(np.load(context.settings["words"]))])
    context.tally.notes |= {
        "in_beats": len(delivery.taken),
        "out_beats": len(delivery.given),
        "cycles": delivery.cycles,
    }


@codec_test
async def measure(context: Context) -> None:
    """One long packet for every case, from idle, with a source and a sink that never hold back."""
    bench = context.bench
    bench.set_pauses()
    for case in cases(context.config.format):
        (delivery,) = await bench.run([context.packet(_words(context, **case))])
        beats = len(delivery.taken), len(delivery.given)
        leave_row(
            {
                **case,
                "in_beats": beats[0],
                "out_beats": beats[1],
                "cycles": delivery.cycles,
                "bound": delivery.packet.cost + context.limits.constant,
                "port": round(max(beats) / delivery.cycles, 4),
                "latency": delivery.latency,
            }
        )


def _words(context: Context, density: float, coverage: float | None = None) -> Words:
    """Words of which a share ``density`` is literals or, with a ``coverage``, not zero; that share of them has a field of
    the table."""
    config = context.config
    count = packet_windows(config.format) * config.format.window
    order = context.np.permutation(count)
    literal = np.zeros(count, bool)
    dense = order[: round(count * density)]
    if coverage is None:
        literal[dense] = True
        return context.fill(literal)
    zeros = np.ones(count, bool)
    zeros[dense] = False
    literal[dense[round(len(dense) * coverage) :]] = True
    return context.codec_bench.fill_covered(context.np, literal, zeros, config)


@codec_test
async def counted(context: Context) -> None:
    """Sends the words of each file through the block at full speed, compares every bit, and waits at the end."""
    bench, dut = context.bench, context.dut
    bench.set_pauses()
    for path in context.settings["words"]:
        packet = context.packet(np.load(path))
        async with counting(dut):
            (delivery,) = await bench.run([packet])
        leave_row({"cycles": delivery.cycles})
    async with counting(dut):
        await ClockCycles(dut.aclk, REST_CYCLES)
