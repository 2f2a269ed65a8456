"""The cocotb side of :mod:`cdma.verif.codec.wave`: one short run that shows what a block does."""

from __future__ import annotations

import numpy as np

from cdma.verif.monitors.pauses import Pause

from . import stimulus
from .context import Context, codec_test

__all__: list[str] = []


def _stall(first: int, cycles: int) -> Pause:
    """Holds back once, for some cycles, from the first-th beat on offer."""
    seen = 0

    def pause(willing: bool) -> bool:
        nonlocal seen
        seen += willing
        return first <= seen < first + cycles

    return pause


@codec_test
async def scenario(context: Context) -> None:
    """A sparse, an empty and a dense window, cut short; the sink holds back once; then a short packet."""
    config, bench = context.config, context.bench
    window, lanes = config.format.window, config.lanes
    sparse = stimulus.scattered(np.random.default_rng(5), window, 0.35)
    empty = np.zeros(window, bool)
    dense = np.ones(window - lanes // 2, bool)
    short = np.arange(max(1, lanes // 2)) % 2 == 1
    bench.set_pauses(output=_stall(3, 3))
    await bench.run([context.from_mask(np.concatenate([sparse, empty, dense])), context.from_mask(short)])
