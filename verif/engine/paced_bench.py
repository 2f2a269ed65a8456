"""The bench that measures: its memories have a fixed latency, never hold back, and may be written everywhere."""

from __future__ import annotations

from cdma.verif.simulator.result import bench_settings

from .measure import MOST_BYTES
from .memory import Memory
from .ring import RingBench

__all__ = ["DESTINATION", "SIZE", "SOURCE", "PacedBench"]

#: Where data are read from, and where they are written to.
SOURCE = 0x100000
DESTINATION = SOURCE + MOST_BYTES
#: Of each memory.
SIZE = DESTINATION + MOST_BYTES


class PacedBench(RingBench):
    """The bench with memories that take an address, a beat and give a beat in every cycle.

    ``host_period``
        Is that of the host's clock in periods of the core's; of those the cycles are.
    """

    @property
    def host_period(self) -> float:
        period: float = bench_settings().get("host_period", 1.0)
        return period

    def periods(self) -> dict[str, tuple[int, int]]:
        periods, domains = super().periods(), self.config.domains
        half, _ = periods[domains.core]
        return {
            clock: (round(half * (self.host_period if clock == domains.host else 1)), 0) for clock in periods
        }

    def make_memory(self) -> Memory:
        memory = Memory(self.rng, SIZE)
        memory.allow(0, SIZE)
        return memory
