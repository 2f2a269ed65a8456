"""The cocotb side of :mod:`cdma.verif.codec.measure`."""

from __future__ import annotations

import numpy as np

from cdma.verif.simulator.result import leave_row

from .context import Context, codec_test

__all__: list[str] = []

#: Densities in tenths.
_TENTHS = range(11)
_WINDOWS = 64


@codec_test
async def measure(context: Context) -> None:
    """One long packet for every density, from idle, with a source and a sink that never hold back."""
    config, bench = context.config, context.bench
    bench.set_pauses()
    count = _WINDOWS * config.format.window
    for tenths in _TENTHS:
        literal = np.zeros(count, bool)
        literal[context.np.permutation(count)[: count * tenths // 10]] = True
        (delivery,) = await bench.run([context.from_mask(literal)])
        assert delivery.packet.expected is not None
        leave_row(
            {
                "density": tenths / 10,
                "in_beats": len(delivery.packet.beats),
                "out_beats": len(delivery.packet.expected),
                "cycles": delivery.cycles,
                "bound": delivery.packet.cost + context.limits.constant,
                "latency": delivery.first_out - delivery.first_in,
            }
        )
