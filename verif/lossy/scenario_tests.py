"""The cocotb side of :mod:`cdma.verif.lossy.wave`: one short run that shows what a stage does."""

from __future__ import annotations

import numpy as np

from cdma.hdl.spec.quantisation import NumberType
from cdma.verif.monitors.pauses import Pause

from .context import Context, stage_test
from .packet import Packet, dequantise_packet, quantise_packet

__all__: list[str] = []

#: Numbers half way between integers, beside them, too large, and none; what a step of 1 makes of them shows every rule.
_NUMBERS = (0.0, 0.5, 1.5, -2.5, 0.25, 3.0, -7.75, 100.0, -0.0, 999.0, float("nan"), 2.25)


def _bits(values: tuple[float, ...], number: NumberType) -> list[int]:
    """The bits of numbers that the type has, most of them exactly."""
    if number.exponent_bits == 5:
        return [int(word) for word in np.array(values, np.float16).view(np.uint16)]
    wide = np.array(values, np.float32).view(np.uint32)
    return [int(word) >> (32 - number.bits) for word in wide]


def _pause_once(first: int, cycles: int) -> Pause:
    """Holds back once, for some cycles, from the first-th beat on offer."""
    seen = 0

    def pause(willing: bool) -> bool:
        nonlocal seen
        seen += willing
        return first <= seen < first + cycles

    return pause


def _shown(context: Context) -> list[Packet]:
    """A packet of a few beats with steps of 1, the last one in part; one beat with steps of a quarter."""
    config, form = context.config, context.config.form
    count = 3 * config.lanes - config.lanes // 2
    if context.design.quantises:
        numbers = (_bits(_NUMBERS, form.number_type) * count)[:count]
        return [
            quantise_packet(numbers, 0, config),
            quantise_packet(numbers[: config.lanes], -2, config),
        ]
    top = form.limit
    integers = ([0, 0, 2, -2, 0, 3, -top, top, 0, 1, 0, 2] * count)[:count]
    words = [word & ((1 << form.bits) - 1) for word in integers]
    return [dequantise_packet(words, 0, config), dequantise_packet(words[: config.lanes], -2, config)]


@stage_test
async def scenario(context: Context) -> None:
    """Two packets with different steps; the sink holds back once."""
    context.bench.set_pauses(output=_pause_once(2, 2))
    await context.bench.run(_shown(context))
