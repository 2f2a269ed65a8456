"""``cdma bench``: measurements, each a command of its own."""

from __future__ import annotations

from cdma.command import Command, modules

from . import codec, engine, software, stage, units

COMMAND = Command(
    "bench",
    "measure speed and ratio",
    "Measure. Each bench explains itself: cdma bench BENCH --help.",
    commands=[module.COMMAND for module in (codec, stage, engine, units, software, *modules("BENCHES"))],
    title="benches",
)
