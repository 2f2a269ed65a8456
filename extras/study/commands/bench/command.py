"""``cdma study bench``: measurements of formats and of trainings."""

from __future__ import annotations

from cdma.command import Command

from . import formats, lossy, queue, words

COMMAND = Command(
    "bench",
    "compare formats, words and queues on recorded activations",
    "Measure. Each bench explains itself: cdma study bench BENCH --help.",
    commands=[module.COMMAND for module in (queue, formats, words, lossy)],
    title="benches",
)
