"""Neighbours that hold back, and resets at any moment."""

from __future__ import annotations

import numpy as np

from cdma.verif.codec.context import Context, codec_test
from cdma.verif.monitors.pauses import PATTERNS, never_first

__all__: list[str] = []


@codec_test
async def patience(context: Context) -> None:
    bench = context.bench
    packets = [context.any_packet() for _ in range(20)]
    bench.set_pauses(output=never_first(context.rng), report=never_first(context.rng))
    await bench.run(packets)
    ends = ["input", "output", "report"] + ([] if context.compresses else ["length"])
    for end in ends:
        for name in ("long_stalls", "scattered"):
            bench.set_pauses(**{end: PATTERNS[name](context.rng)})
            await bench.run(packets)
    # Reports are taken late: what they hold up must go on as soon as they are.
    quiet = 0

    def reports_last(willing: bool) -> bool:
        nonlocal quiet
        quiet = quiet + 1 if willing else 0
        return quiet < 100

    bench.set_pauses(report=reports_last)
    await bench.run(packets[:6])
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


@codec_test
async def reset(context: Context) -> None:
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
