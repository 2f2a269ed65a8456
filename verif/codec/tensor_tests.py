"""The cocotb side of :mod:`cdma.verif.codec.tensor`: one tensor of the caller's, as one packet."""

from __future__ import annotations

import numpy as np

from .context import Context, codec_test

__all__: list[str] = []


@codec_test
async def tensor(context: Context) -> None:
    """Sends the words of a file through the block at full speed and compares every bit."""
    bench = context.bench
    bench.set_pauses()
    (delivery,) = await bench.run([context.packet(np.load(context.settings["words"]))])
    assert delivery.packet.expected is not None
    context.tally.notes |= {
        "in_beats": len(delivery.packet.beats),
        "out_beats": len(delivery.packet.expected),
        "cycles": delivery.cycles,
    }
