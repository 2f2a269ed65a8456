"""Neighbours that hold back, and resets at any moment."""

from __future__ import annotations

import numpy as np

from cdma.verif.simulator.plan import planned
from cdma.verif.stream.bench import long_stalls, resets
from cdma.verif.stream.codec.context import Context, codec_test


@planned(
    "sinks that wait for valid, long stalls on each stream in turn, late lengths and reports",
    "valid does not wait for ready; nothing hangs or is lost",
)
@codec_test
async def patience(context: Context) -> None:
    bench = context.bench
    packets = await long_stalls(context)
    waited = 0

    def late() -> bool:
        nonlocal waited
        waited = (waited + 1) % 80
        return waited != 0

    bench.set_pauses()
    if bench.length is not None:
        bench.length.gate = late
        await bench.run(packets[:10])
        bench.length.gate = None
    # Beats that come late, so that a decompressor runs dry that has much to make of each: of headers without a literal.
    form = context.config.format
    windows = 3 * context.config.units // max(1, form.header_words) + 1
    bench.input.gate = late
    await bench.run([context.from_mask(np.zeros(windows * form.window, bool)), packets[0]])
    bench.input.gate = None


reset = planned(
    "reset in mid-packet at any moment",
    "the next packet is whole",
    weight=3,
)(codec_test(resets, "reset"))
