"""``cdma bench``: measurements, each a command of its own."""

from __future__ import annotations

from cdma.command import Command, modules

from . import engine, software, streams, units

COMMAND = Command(
    "bench",
    "measure speed and ratio",
    "Measure. Each bench explains itself: cdma bench BENCH --help.",
    commands=[
        *(streams.CODEC, streams.STAGE),
        *(module.COMMAND for module in (engine, units, software, *modules("BENCHES"))),
    ],
    title="benches",
)
