"""The cocotb side of :mod:`cdma.verif.codec.measure`."""

from __future__ import annotations

import numpy as np

from cdma.sim.codec.words import Words
from cdma.verif.simulator.result import leave_row

from .context import Context, codec_test
from .measure import cases, packet_windows

__all__: list[str] = []


@codec_test
async def measure(context: Context) -> None:
    """One long packet for every case, from idle, with a source and a sink that never hold back."""
    config, bench = context.config, context.bench
    bench.set_pauses()
    for case in cases(config.format):
        words = _words(context, **case)
        (delivery,) = await bench.run([context.packet(words)])
        assert delivery.packet.expected is not None
        beats = len(delivery.packet.beats), len(delivery.packet.expected)
        leave_row(
            {
                **case,
                "in_beats": beats[0],
                "out_beats": beats[1],
                "cycles": delivery.cycles,
                "bound": delivery.packet.cost + context.limits.constant,
                "port": round(max(beats) / delivery.cycles, 4),
                "latency": delivery.first_out - delivery.first_in,
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
