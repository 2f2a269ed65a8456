"""Tests that run by themselves, in no regression: for waves and for measurements."""

from __future__ import annotations

import numpy as np

from cdma.hdl.spec.stage import NumberType
from cdma.verif.simulator.monitors.stream_ends import once
from cdma.verif.simulator.plan import leave_row
from cdma.verif.stream.stage.context import Context, stage_test
from cdma.verif.stream.stage.measure import BEATS, PACKETS

#: Numbers half way between integers, beside them, too large, and none; what a step of 1 makes of them shows every rule.
_NUMBERS = (0.0, 0.5, 1.5, -2.5, 0.25, 3.0, -7.75, 100.0, -0.0, 999.0, float("nan"), 2.25)


def _bits(values: tuple[float, ...], number: NumberType) -> list[int]:
    """The bits of numbers that the type has, most of them exactly."""
    if number.exponent_bits == 5:
        return [int(word) for word in np.array(values, np.float16).view(np.uint16)]
    wide = np.array(values, np.float32).view(np.uint32)
    return [int(word) >> (32 - number.bits) for word in wide]


@stage_test
async def scenario(context: Context) -> None:
    """A packet of a few beats with steps of 1, the last one in part; one beat with steps of a quarter. The sink holds back
    once."""
    form, lanes = context.config.form, context.config.lanes
    count, top = 3 * lanes - lanes // 2, form.limit
    if context.design.quantises:
        shown = _bits(_NUMBERS, form.number_type)
    else:
        integers = (0, 0, 2, -2, 0, 3, -top, top, 0, 1, 0, 2)
        shown = [word & ((1 << form.bits) - 1) for word in integers]
    words = (shown * count)[:count]
    context.bench.set_pauses(output=once(2, 2))
    await context.bench.run([context.packet(words, 0), context.packet(words[:lanes], -2)])


@stage_test
async def measure(context: Context) -> None:
    """Packets of one length back to back, with a source and sinks that never hold back."""
    bench, lanes = context.bench, context.config.lanes
    bench.set_pauses()
    for beats in BEATS:
        deliveries = await bench.run([context.any_packet(beats * lanes, 0) for _ in range(PACKETS)])
        first, final = deliveries[0], deliveries[-1]
        cycles = final.given[-1] - first.given[0] + 1
        leave_row(
            {
                "beats": beats,
                "packets": PACKETS,
                "cycles": cycles,
                "latency": first.latency,
                "beats_per_cycle": round(PACKETS * beats / cycles, 4),
            }
        )
